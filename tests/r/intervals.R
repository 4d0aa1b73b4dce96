# Reference values for the intervals of paired proportions, of one proportion and of the odds
# ratio, in base R.
# Run in this folder: Rscript intervals.R  (writes differences.csv, proportions.csv, odds_ratio.csv)
#
# Written without sight of the package's code: Wilson's limits are prop.test's, square-and-add
# is a quadratic form of the correlation matrix, the Wald limits come from the mean and the spread
# of the expanded scores 1, -1, 0 of the items (Bonett and Price's are those of the table with one
# item more in each discordant cell), Clopper and Pearson's limits are binom.test's. The script stops
# if the published examples are not reproduced.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

wilson <- function(x, n, alpha) {
  as.numeric(suppressWarnings(prop.test(x, n, conf.level = 1 - alpha, correct = FALSE))$conf.int)
}

# Newcombe 1998, method 10; his phi has a continuity correction if it is positive.
newcombe <- function(n11, n10, n01, n00, alpha) {
  n <- n11 + n10 + n01 + n00
  margins <- c(n11 + n10, n01 + n00, n11 + n01, n10 + n00)
  cross <- det(matrix(c(n11, n01, n10, n00), 2))
  cross <- round(cross)  # det works in floating point; the cells are integers
  if (cross > 0) cross <- max(cross - n / 2, 0)
  phi <- if (any(margins == 0)) 0 else cross / exp(sum(log(margins)) / 2)
  correlation <- matrix(c(1, -phi, -phi, 1), 2)
  width <- function(v) sqrt(drop(t(v) %*% correlation %*% v))
  pa <- (n11 + n10) / n
  pb <- (n11 + n01) / n
  a <- wilson(n11 + n10, n, alpha)
  b <- wilson(n11 + n01, n, alpha)
  # Both components are distances, so the correlation of the difference enters with a minus sign.
  c(pa - pb - width(c(pa - a[1], b[2] - pb)), pa - pb + width(c(a[2] - pa, pb - b[1])))
}

wald <- function(n10, n01, rest, alpha) {
  scores <- rep(c(1, -1, 0), c(n10, n01, rest))
  middle <- mean(scores)
  half <- -qnorm(alpha / 2) * sqrt(mean((scores - middle)^2) / length(scores))
  c(max(middle - half, -1), min(middle + half, 1))
}

tables <- rbind(
  # published examples
  c(1, 1, 7, 12), c(794, 150, 86, 570), c(14, 5, 0, 22), c(60, 40, 20, 40),
  # one item
  c(1, 0, 0, 0), c(0, 1, 0, 0), c(0, 0, 1, 0), c(0, 0, 0, 1),
  # no discordance, all right, all wrong, all discordant on one side
  c(10, 0, 0, 10), c(37, 0, 0, 3), c(20, 0, 0, 0), c(0, 0, 0, 20), c(0, 15, 0, 0), c(0, 0, 15, 0),
  c(801, 0, 0, 0), c(0, 0, 0, 801), c(0, 300, 0, 0), c(0, 0, 300, 0),
  # one empty cell or more
  c(0, 5, 5, 0), c(0, 7, 2, 0), c(0, 4, 1, 9), c(9, 4, 1, 0), c(5, 3, 0, 0), c(0, 3, 0, 5),
  c(5, 0, 3, 0), c(0, 0, 3, 5), c(12, 1, 0, 0), c(30, 0, 6, 12), c(0, 12, 0, 160), c(17, 0, 160, 0),
  # phi positive but below its correction, at it, negative
  c(2, 2, 1, 3), c(4, 1, 1, 3), c(4, 2, 2, 4), c(3, 8, 9, 2), c(1, 10, 6, 2), c(6, 4, 4, 6),
  # usual benchmarks
  c(30, 8, 2, 10), c(700, 83, 10, 8), c(500, 5, 3, 20), c(610, 83, 10, 98), c(40, 25, 25, 10),
  c(25, 12, 20, 43), c(3, 0, 1, 0), c(150, 31, 18, 77), c(2000, 301, 260, 1439), c(1, 0, 1, 0),
  c(2, 1, 1, 2), c(97, 1, 1, 1), c(1, 1, 1, 97)
)
colnames(tables) <- c("n11", "n10", "n01", "n00")
stopifnot(!anyDuplicated(tables))

differences <- do.call(rbind, lapply(c(0.05, 0.10), function(alpha) {
  do.call(rbind, apply(tables, 1, function(row) {
    n11 <- row[["n11"]]; n10 <- row[["n10"]]; n01 <- row[["n01"]]; n00 <- row[["n00"]]
    score <- newcombe(n11, n10, n01, n00, alpha)
    adjusted <- wald(n10 + 1, n01 + 1, n11 + n00, alpha)
    plain <- wald(n10, n01, n11 + n00, alpha)
    data.frame(
      n11, n10, n01, n00, alpha,
      newcombe_low = score[1], newcombe_high = score[2],
      bonett_price_low = adjusted[1], bonett_price_high = adjusted[2],
      wald_low = plain[1], wald_high = plain[2]
    )
  }))
}))

# The first four rows are at alpha 0.05.
known <- rbind(
  c(-0.50692, -0.02556, -0.50836, -0.01338), c(0.02123, 0.05870, 0.02118, 0.05872),
  c(0.01148, 0.22649, 0.00080, 0.23176), c(0.03060, 0.21590, 0.03011, 0.21680)
)
found <- as.matrix(differences[1:4, 6:9])
if (any(abs(found - known) > 5e-6)) {
  print(found - known, digits = 3)
  stop("a published interval is not reproduced")
}
stopifnot(with(differences, newcombe_low >= -1 - 1e-12 & newcombe_high <= 1 + 1e-12))
write_exactly(differences, "differences.csv")

shares <- rbind(
  data.frame(successes = c(0, 1), n = 1), data.frame(successes = 0:2, n = 2),
  data.frame(successes = 0:7, n = 7), data.frame(successes = c(0, 1, 5, 10, 19, 20), n = 20),
  data.frame(successes = c(0, 1, 400, 800, 801), n = 801),
  data.frame(successes = c(0, 3, 123456, 7654320, 7654321), n = 7654321)
)
jeffreys <- function(x, n, alpha) {
  limits <- qbeta(c(alpha / 2, 1 - alpha / 2), x + 0.5, n - x + 0.5)
  if (x == 0) limits[1] <- 0
  if (x == n) limits[2] <- 1
  limits
}
proportions <- do.call(rbind, lapply(c(0.05, 0.10, 0.01), function(alpha) {
  exact <- mapply(
    function(x, n) binom.test(x, n, conf.level = 1 - alpha)$conf.int, shares$successes, shares$n
  )
  prior <- mapply(jeffreys, shares$successes, shares$n, alpha)
  data.frame(
    shares, alpha = alpha,
    clopper_pearson_low = exact[1, ], clopper_pearson_high = exact[2, ],
    jeffreys_low = prior[1, ], jeffreys_high = prior[2, ]
  )
}))
write_exactly(proportions, "proportions.csv")

# Given the discordant pairs n10 is binomial, and the odds ratio is the odds of its probability. No
# discordant pair is not informative: NA.
pairs <- data.frame(
  n10 = c(0, 1, 0, 1, 2, 0, 7, 5, 0, 12, 12, 5, 40, 150, 83, 8, 2, 300, 0, 1, 2400, 17),
  n01 = c(0, 0, 1, 1, 0, 2, 1, 0, 5, 12, 3, 20, 20, 86, 10, 2, 8, 0, 300, 160, 2100, 160)
)
odds_ratio <- do.call(rbind, lapply(c(0.05, 0.10), function(alpha) {
  limits <- mapply(function(n10, n01) {
    if (n10 + n01 == 0) return(c(NA, NA))
    p <- as.numeric(binom.test(n10, n10 + n01, conf.level = 1 - alpha)$conf.int)
    c(p[1] / (1 - p[1]), if (n01 == 0) Inf else p[2] / (1 - p[2]))
  }, pairs$n10, pairs$n01)
  data.frame(pairs, alpha = alpha, low = limits[1, ], high = limits[2, ])
}))
write_exactly(odds_ratio, "odds_ratio.csv")
