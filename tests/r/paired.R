# Reference values for tests/inference and tests/metrics, in base R.
# Run in this folder: Rscript paired.R  (writes paired.csv, wilson.csv, holm.csv, r-version.txt)
#
# This script does not use the package's formulas: the restricted maximum likelihood estimate of
# Tango's statistic is the root of the likelihood's derivative, not the root of a quadratic; mid-p
# sums the probabilities of the tables; Cohen's h is written with atan2, its correlation is
# cov.wt's and the square-and-add a quadratic form. NA means that R has no answer.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

exact_p <- function(n10, n01) {
  if (n10 + n01 == 0) return(NA)
  binom.test(n10, n10 + n01, 0.5)$p.value
}

# Less likely tables, and half of the equally likely ones. At n10 = n01 this is Fagerland's
# 1 - dbinom / 2.
mid_p <- function(n10, n01) {
  n <- n10 + n01
  if (n == 0) return(NA)
  far <- abs(2 * (0:n) - n)
  here <- abs(n10 - n01)
  p <- dbinom(0:n, n, 0.5)
  sum(sort(p[far > here])) + sum(p[far == here]) / 2
}

chi2_p <- function(n11, n10, n01, n00, correct) {
  p <- mcnemar.test(matrix(c(n11, n01, n10, n00), 2), correct = correct)$p.value
  if (is.nan(p)) NA else unname(p)
}

# P(only b correct) at which the likelihood under p_a - p_b = delta is highest.
restricted_p01 <- function(n10, n01, n, delta) {
  low <- max(0, -delta)
  high <- (1 - delta) / 2
  rest <- n - n10 - n01
  slope <- function(p) {
    term <- function(count, prob) if (count == 0) 0 else count / prob
    term(n10, p + delta) + term(n01, p) - term(rest, (1 - 2 * p - delta) / 2)
  }
  # An end is the maximum if the probability that is 0 there belongs to a count of 0.
  count_at_low <- (if (delta < 0) n10 else n01) + (if (delta == 0) n10 else 0)
  if (count_at_low == 0 && slope(low) <= 0) return(low)
  if (rest == 0 && slope(high) >= 0) return(high)
  # The slope is infinite at the ends of an interior root: step inside of them.
  inside <- (high - low) * 1e-13
  uniroot(slope, c(low + inside, high - inside), tol = 1e-15, maxiter = 10000)$root
}

tango <- function(n10, n01, n, alpha) {
  z <- qnorm(1 - alpha / 2)
  score <- function(delta) {
    variance <- n * (2 * restricted_p01(n10, n01, n, delta) + delta * (1 - delta))
    (n10 - n01 - n * delta) / sqrt(max(variance, 0))
  }
  estimate <- (n10 - n01) / n
  edge <- 1e-12
  limit <- function(target, from, to) {
    f <- function(delta) score(delta) - target
    if (f(from) * f(to) > 0) return(NA)
    uniroot(f, c(from, to), tol = 1e-14, maxiter = 10000)$root
  }
  # The estimate itself is no end of the bracket: with no discordant pair T is 0 / 0 there.
  low <- if (n01 == n) -1 else limit(z, -1 + edge, max(estimate - edge, -1 + 2 * edge))
  high <- if (n10 == n) 1 else limit(-z, min(estimate + edge, 1 - 2 * edge), 1 - edge)
  c(low, high)
}

h_interval <- function(n11, n10, n01, n00) {
  n <- n11 + n10 + n01 + n00
  angle <- function(p) 2 * atan2(sqrt(p), sqrt(1 - p))
  h <- angle((n11 + n10) / n) - angle((n11 + n01) / n)
  # phi as the correlation of the 0/1 data, with Newcombe's correction if it is positive.
  cells <- data.frame(a = c(1, 1, 0, 0), b = c(1, 0, 1, 0))
  weights <- c(n11, n10, n01, n00)
  phi <- 0
  if (all(c(n11 + n10, n01 + n00, n11 + n01, n10 + n00) > 0)) {
    moments <- cov.wt(cells, weights / n, method = "ML")$cov
    covariance <- moments[1, 2]
    if (covariance > 0) covariance <- max(covariance - 1 / (2 * n), 0)
    phi <- covariance / sqrt(moments[1, 1] * moments[2, 2])
  }
  limits <- function(x) {
    suppressWarnings(prop.test(x, n, conf.level = 0.95, correct = FALSE))$conf.int
  }
  a <- angle(limits(n11 + n10)) - angle((n11 + n10) / n)
  b <- angle(limits(n11 + n01)) - angle((n11 + n01) / n)
  # If a group is always right or always wrong and pairs are discordant, phi is not defined: of all
  # 2 x 2 laws with these limits as margins, the one with the fewest pairs that are both right.
  undefined <- n10 + n01 > 0 && min(n11 + n10, n01 + n00, n11 + n01, n10 + n00) == 0
  least <- function(p, q) {
    if (min(p, q) < 1e-15 || max(p, q) > 1 - 1e-15) return(0)
    cov.wt(cells, c(max(p + q - 1, 0), min(p, 1 - q), min(q, 1 - p), max(1 - p - q, 0)),
           method = "ML", cor = TRUE)$cor[1, 2]
  }
  # The distances of a's lower and b's upper limit, with the lengths' angle given by phi.
  away <- function(x, y, p, q) {
    if (undefined) phi <- least(p, q)
    sqrt(max(c(x, y) %*% matrix(c(1, -phi, -phi, 1), 2) %*% c(x, y), 0))
  }
  pa <- limits(n11 + n10)
  pb <- limits(n11 + n01)
  c(h, max(h - away(-a[1], b[2], pa[1], pb[2]), -pi), min(h + away(a[2], -b[1], pa[2], pb[1]), pi))
}

cells <- c(0, 1, 4, 11)
tables <- expand.grid(n11 = cells, n10 = cells, n01 = cells, n00 = cells)
tables <- tables[rowSums(tables) > 0, ]
tables <- rbind(
  tables,
  data.frame(
    n11 = c(1, 794, 14, 60, 3, 610, 0, 0, 801, 0, 500000, 17, 40),
    n10 = c(1, 150, 5, 40, 0, 83, 300, 0, 0, 0, 2400, 0, 25),
    n01 = c(7, 86, 0, 20, 1, 10, 0, 300, 0, 0, 2100, 160, 25),
    n00 = c(12, 570, 22, 40, 0, 98, 0, 0, 0, 801, 300000, 0, 10)
  )
)
paired <- do.call(rbind, apply(tables, 1, function(row) {
  n11 <- row[["n11"]]; n10 <- row[["n10"]]; n01 <- row[["n01"]]; n00 <- row[["n00"]]
  n <- sum(row)
  tango95 <- tango(n10, n01, n, 0.05)
  tango90 <- tango(n10, n01, n, 0.10)
  h <- h_interval(n11, n10, n01, n00)
  data.frame(
    n11, n10, n01, n00,
    exact = exact_p(n10, n01), midp = mid_p(n10, n01),
    asymptotic = chi2_p(n11, n10, n01, n00, FALSE),
    asymptotic_cc = chi2_p(n11, n10, n01, n00, TRUE),
    tango95_low = tango95[1], tango95_high = tango95[2],
    tango90_low = tango90[1], tango90_high = tango90[2],
    h = h[1], h_low = h[2], h_high = h[3]
  )
}))
write_exactly(paired, "paired.csv")

shares <- rbind(
  expand.grid(successes = 0:12, n = 1:12),
  data.frame(successes = c(0, 1, 400, 801, 675, 123456), n = c(801, 801, 801, 801, 801, 7654321))
)
shares <- shares[shares$successes <= shares$n, ]
wilson <- do.call(rbind, lapply(c(0.90, 0.95, 0.99), function(level) {
  limits <- mapply(
    function(x, n) suppressWarnings(prop.test(x, n, conf.level = level, correct = FALSE))$conf.int,
    shares$successes, shares$n
  )
  data.frame(shares, level = level, low = limits[1, ], high = limits[2, ])
}))
write_exactly(wilson, "wilson.csv")

set.seed(13)
families <- list(
  0.03, c(0.01, 0.04, 0.03), rep(0.02, 4), c(0, 1, 0.5), c(1e-17, 1e-15, 0.2, 0.9, 0.9),
  round(runif(40), 3), c(rep(1, 5), 1e-9)
)
holm <- do.call(rbind, lapply(seq_along(families), function(number) {
  p <- families[[number]]
  data.frame(family = number, p = p, adjusted = p.adjust(p, "holm"))
}))
write_exactly(holm, "holm.csv")

writeLines(R.version.string, "r-version.txt")
