# Reference values for the power of equivalence and comparisons of two models, in base R.
# Run in this folder: Rscript planning.R
# (writes power_equivalence.csv, power_comparison.csv; a few seconds)
#
# Written without the package's closed forms: every possible sample is enumerated. For equivalence,
# the likelihood is maximised numerically under a difference of plus or minus the margin. For
# comparisons, every vector of signs of every sample is counted.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

# ---- equivalence
term <- function(count, p) if (count == 0) 0 else count * log(max(p, 1e-300))

score <- function(n10, n01, n, delta) {
  ends <- c(max(0, -delta), (1 - delta) / 2)
  f <- function(p01) {
    term(n10, p01 + delta) + term(n01, p01) + term(n - n10 - n01, 1 - 2 * p01 - delta)
  }
  tried <- c(optimize(f, ends, maximum = TRUE, tol = 1e-14)$maximum, ends)
  p01 <- tried[which.max(vapply(tried, f, 0))]
  variance <- n * (2 * p01 + delta * (1 - delta))
  (n10 - n01 - n * delta) / sqrt(max(variance, 1e-300))
}

power_equivalence <- function(n, p10, p01, margin, alpha) {
  z <- qnorm(1 - alpha)
  total <- 0
  for (n10 in 0:n) for (n01 in 0:(n - n10)) {
    if (score(n10, n01, n, margin) < -z && score(n10, n01, n, -margin) > z) {
      total <- total + dmultinom(c(n10, n01, n - n10 - n01), prob = c(p10, p01, 1 - p10 - p01))
    }
  }
  total
}

designs <- rbind(
  data.frame(n = c(1, 20, 40, 60, 60, 70), p10 = c(0.1, 0.05, 0.1, 0.1, 0.2, 0.03),
             p01 = c(0.1, 0.05, 0.1, 0.05, 0.1, 0.03), margin = c(0.5, 0.2, 0.2, 0.15, 0.2, 0.1),
             alpha = 0.05),
  data.frame(n = c(50, 60, 45), p10 = c(0.2, 0, 0.02), p01 = c(0.05, 0, 0.2),
             margin = c(0.15, 0.06, 0.25), alpha = c(0.05, 0.05, 0.01))  # the first: its level
)
designs$power <- do.call(mapply, c(power_equivalence, unname(as.list(designs))))
write_exactly(designs, "power_equivalence.csv")

# ---- two models
signs <- lapply(0:11, function(k) as.matrix(expand.grid(rep(list(c(-1, 1)), k))))

mid_p <- function(changes) {
  changes <- changes[changes != 0]
  if (length(changes) == 0) return(1)
  sums <- abs(signs[[length(changes) + 1]] %*% abs(changes))
  if (sum(changes) == 0) return(1)
  mean(sums > abs(sum(changes))) + mean(sums == abs(sum(changes))) / 2
}

power_comparison <- function(n, law, alpha) {
  total <- 0
  for (a in 0:n) for (b in 0:(n - a)) for (c in 0:(n - a - b)) for (d in 0:(n - a - b - c)) {
    counts <- c(a, b, n - a - b - c - d, c, d)
    if (mid_p(rep(-2:2, counts)) <= alpha + 1e-12) total <- total + dmultinom(counts, prob = law)
  }
  total
}

laws <- rbind(
  c(0.05, 0.1, 0.3, 0.35, 0.2), c(0.02, 0.1, 0.3, 0.5, 0.08), c(0.1, 0.2, 0.4, 0.2, 0.1),
  c(0, 0.1, 0.2, 0.7, 0), c(0.2, 0, 0.1, 0, 0.7), c(0, 0, 0.1, 0.4, 0.5)
)
models <- merge(data.frame(n = c(2, 6, 11), alpha = c(0.3, 0.05, 0.05)), data.frame(law = 1:nrow(laws)))
models$power <- mapply(function(n, alpha, law) power_comparison(n, laws[law, ], alpha),
                       models$n, models$alpha, models$law)
models <- cbind(models[c("n", "alpha", "power")], setNames(
  as.data.frame(laws[models$law, ]), c("down2", "down1", "none", "up1", "up2")))
write_exactly(models, "power_comparison.csv")
