# Reference values for the posterior of the difference of two paired proportions, in base R.
# Run in this folder: Rscript posterior.R  (writes posterior.csv; half a minute)
#
# Written the other way round than the package: the integral is over the share phi of discordant
# pairs that favour a, with R's adaptive quadrature, not over the share of discordant pairs. The
# script stops if a million draws from the Dirichlet distribution disagree.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

# P(s (2 phi - 1) > x) for x >= 0, with s ~ Beta(a, b) and phi ~ Beta(p, q). The integral is over
# the probability of phi: no density is infinite there.
above <- function(x, a, b, p, q) {
  from <- pbeta((1 + x) / 2, p, q, lower.tail = FALSE)
  f <- function(u) {
    phi <- qbeta(u, p, q, lower.tail = FALSE)
    pbeta(pmin(x / (2 * phi - 1), 1), a, b, lower.tail = FALSE)
  }
  if (from < 1e-300) return(0)
  cuts <- from * c(0, 0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999, 1)
  sum(mapply(function(l, h) {
    integrate(f, l, h, rel.tol = 1e-9, abs.tol = 1e-11, subdivisions = 5000)$value
  }, cuts[-length(cuts)], cuts[-1]))
}

below <- function(x, d) {
  a <- d[2] + d[3]
  b <- d[1] + d[4]
  if (x >= 0) 1 - above(x, a, b, d[2], d[3]) else above(-x, a, b, d[3], d[2])
}

limit <- function(p, d) {
  uniroot(function(x) below(x, d) - p, c(-1 + 1e-9, 1 - 1e-9), tol = 1e-12)$root
}

set.seed(1)
tables <- rbind(
  # no pair; one; no discordant pair; all discordant; one direction only
  c(0, 0, 0, 0), c(0, 1, 0, 0), c(10, 0, 0, 0), c(0, 4, 3, 0), c(3, 0, 6, 2),
  # usual benchmarks
  c(43, 9, 4, 44), c(666, 12, 9, 114), c(666, 83, 10, 42), c(801, 0, 0, 0), c(700, 30, 1, 70)
)
priors <- c(0.5, 1, 0.25)
rows <- do.call(rbind, lapply(priors, function(prior) {
  do.call(rbind, lapply(seq_len(nrow(tables)), function(i) {
    d <- tables[i, ] + prior
    draws <- matrix(rgamma(4e6, rep(d, each = 1e6)), ncol = 4)
    drawn <- (draws[, 2] - draws[, 3]) / rowSums(draws)
    limits <- c(limit(0.025, d), limit(0.975, d))
    within <- below(0.02, d) - below(-0.02, d)
    stopifnot(
      abs(mean(abs(drawn) < 0.02) - within) < 2e-3,
      abs(mean(drawn <= limits[1]) - 0.025) < 1e-3,
      abs(mean(drawn >= limits[2]) - 0.025) < 1e-3
    )
    data.frame(prior = prior, n11 = tables[i, 1], n10 = tables[i, 2], n01 = tables[i, 3],
               n00 = tables[i, 4], mean = (d[2] - d[3]) / sum(d), low = limits[1],
               high = limits[2], better = 1 - below(0, d), within = within)
  }))
}))
write_exactly(rows, "posterior.csv")
