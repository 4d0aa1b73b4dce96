# Reference values for the power of McNemar's test and for the number of items, in base R.
# Run in this folder: Rscript power.R  (writes power.csv, samplesize.csv; ten seconds)
#
# Written without sight of the package's code: the power is the sum of dmultinom over every
# trinomial outcome (n10, n01, rest) that the test rejects, in a double loop; exact p-values are
# binom.test's, mid-p is summed over the binomial's outcomes, the asymptotic test is mcnemar.test
# without continuity correction. The number of items is searched over every n up to 300.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

p_value <- function(n10, n01, method) {
  n <- n10 + n01
  if (n == 0) return(1)  # no discordant pair: never rejected
  if (method == "exact") return(binom.test(n10, n, 0.5)$p.value)
  if (method == "asymptotic") {
    return(mcnemar.test(matrix(c(1, n01, n10, 1), 2), correct = FALSE)$p.value)
  }
  far <- abs(2 * (0:n) - n)
  p <- dbinom(0:n, n, 0.5)
  sum(p[far > abs(n10 - n01)]) + sum(p[far == abs(n10 - n01)]) / 2
}

# p-values of all n10, n01 with n10 + n01 <= 300, by method.
most <- 300
p_values <- sapply(c("midp", "exact", "asymptotic"), function(method) {
  table <- matrix(NA, most + 1, most + 1)
  for (n10 in 0:most) for (n01 in 0:min(n10, most - n10)) {
    p <- p_value(n10, n01, method)
    table[n10 + 1, n01 + 1] <- p
    table[n01 + 1, n10 + 1] <- p
  }
  table
}, simplify = FALSE)
# No p-value is so near to a level that its last digits could decide.
for (table in p_values) for (alpha in c(0.01, 0.05, 0.10)) {
  stopifnot(min(abs(table - alpha), na.rm = TRUE) > 1e-9)
}

power <- function(n, p10, p01, alpha, method) {
  total <- 0
  for (n10 in 0:n) for (n01 in 0:(n - n10)) {
    if (p_values[[method]][n10 + 1, n01 + 1] <= alpha) {
      total <- total + dmultinom(c(n10, n01, n - n10 - n01), prob = c(p10, p01, 1 - p10 - p01))
    }
  }
  total
}

designs <- rbind(
  data.frame(n = c(10, 25, 50, 100, 120), p10 = c(0.5, 0.3, 0.2, 0.15, 0.10),
             p01 = c(0.1, 0.05, 0.05, 0.05, 0.03), alpha = 0.05),
  data.frame(n = c(40, 80), p10 = c(0.2, 0.1), p01 = c(0.2, 0.1), alpha = 0.05),  # size of the test
  data.frame(n = c(60, 90), p10 = c(0.25, 0.05), p01 = c(0.10, 0.20), alpha = c(0.10, 0.01)),
  data.frame(n = c(5, 30), p10 = c(0.6, 0.4), p01 = c(0, 0), alpha = 0.05),
  data.frame(n = c(1, 20, 20), p10 = c(0.7, 0.7, 1), p01 = c(0.2, 0.3, 0), alpha = 0.05)
)
designs <- merge(data.frame(method = c("midp", "exact", "asymptotic")), designs)
designs <- designs[c("n", "p10", "p01", "alpha", "method")]
designs$power <- mapply(power, designs$n, designs$p10, designs$p01, designs$alpha, designs$method)
write_exactly(designs, "power.csv")

# The same sum for all outcomes at once: 300 values of n are too many for the loop.
power_at_once <- function(n, p10, p01, alpha, method) {
  counts <- which(p_values[[method]] <= alpha, arr.ind = TRUE) - 1
  counts <- counts[rowSums(counts) <= n, , drop = FALSE]
  rest <- n - rowSums(counts)
  log_p <- lgamma(n + 1) - lgamma(counts[, 1] + 1) - lgamma(counts[, 2] + 1) - lgamma(rest + 1)
  sum(exp(log_p + counts[, 1] * log(p10) + counts[, 2] * log(p01) + rest * log1p(-p10 - p01)))
}
stopifnot(abs(power_at_once(50, 0.2, 0.05, 0.05, "midp") - power(50, 0.2, 0.05, 0.05, "midp")) < 1e-12)

# Power is no increasing function of n: the smallest n from which on it stays at the target or above
# for 100 items more.
beyond <- 100
needs <- data.frame(
  p10 = c(0.2, 0.2, 0.2, 0.3, 0.15, 0.25, 0.05, 0.4, 0.7, 0.66),
  p01 = c(0.05, 0.05, 0.05, 0.1, 0.05, 0.1, 0.2, 0.05, 0.29, 0.33),
  alpha = c(0.05, 0.05, 0.05, 0.05, 0.05, 0.10, 0.01, 0.05, 0.05, 0.05),
  method = c("midp", "exact", "asymptotic", "exact", "midp", "asymptotic", "midp", "exact",
             "exact", "midp"),
  power = c(0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8, 0.95, 0.8, 0.8)
)
found <- mapply(function(p10, p01, alpha, method, target) {
  powers <- sapply(1:most, power_at_once, p10, p01, alpha, method)
  stopifnot(min(abs(powers - target)) > 1e-9)
  enough <- sapply(1:(most - beyond), function(n) all(powers[n:(n + beyond)] >= target))
  n <- which(enough)[1]
  c(n, which(powers >= target)[1], powers[n])
}, needs$p10, needs$p01, needs$alpha, needs$method, needs$power)
needs$n <- found[1, ]
needs$first_n <- found[2, ]  # the first n at the target, be it lost again or not
needs$power_at_n <- found[3, ]
stopifnot(needs$n < 200)
write_exactly(needs, "samplesize.csv")
