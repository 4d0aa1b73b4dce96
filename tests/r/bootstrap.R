# Reference values for bootstrap intervals: by package boot's replicates and, for few items, from the
# exact law of the bootstrap.
# Run in this folder: Rscript bootstrap.R  (writes bootstrap.csv, bootstrap_exact.csv; two minutes)
#
# Written without sight of the package's code: boot resamples the items themselves, 199999 times;
# the exact law sums dmultinom over every table of n items that can be drawn. The jackknife leaves
# out one item after the other.
#
# Statistics: difference p_a - p_b; Cohen's h 2 asin sqrt(p_a) - 2 asin sqrt(p_b); odds ratio
# n10 / n01, Inf at n01 = 0 < n10 and 1 at n10 = n01 = 0; proportion (n11 + n00) / n.
#
# The limits are attained values of the statistic, without interpolation: the lower one is the
# smallest x with P(T <= x) >= level, the upper one the largest x with P(T >= x) >= 1 - level. Values
# nearer than 1e-12 are one value. z0 counts half of the ties with the estimate. NA: the jackknife is
# infinite or does not vary, or the limit is Inf - Inf.

library(boot)

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

alpha <- 0.05
cell_names <- c("n11", "n10", "n01", "n00")

# One column per statistic, one row per table.
statistics <- function(tables) {
  tables <- matrix(tables, ncol = 4)
  n <- rowSums(tables)
  n10 <- tables[, 2]
  n01 <- tables[, 3]
  a <- tables[, 1] + n10
  b <- tables[, 1] + n01
  cbind(
    difference = (n10 - n01) / n,
    cohens_h = 2 * asin(sqrt(a / n)) - 2 * asin(sqrt(b / n)),
    odds_ratio = ifelse(n10 + n01 == 0, 1, n10 / n01),
    proportion = (tables[, 1] + tables[, 4]) / n
  )
}

# Distinct values of the statistic and their probabilities, in order.
law <- function(values, weights) {
  order <- order(values)
  values <- values[order]
  same <- c(FALSE, values[-1] == values[-length(values)] | diff(values) <= 1e-12)
  group <- cumsum(!same)
  weights <- as.numeric(rowsum(weights[order], group))
  list(value = values[!same], below = cumsum(weights), above = rev(cumsum(rev(weights))),
       weight = weights)
}
# Rounding of the sums of probabilities must not decide: 1e-13.
lower_limit <- function(law, level) law$value[which(law$below >= level - 1e-13)[1]]
upper_limit <- function(law, level) law$value[rev(which(law$above >= 1 - level - 1e-13))[1]]

bias <- function(law, estimate) {
  tie <- law$value == estimate | abs(law$value - estimate) <= 1e-12
  qnorm(sum(law$weight[law$value < estimate & !tie]) + sum(law$weight[tie]) / 2)
}

# One column per statistic: the empirical influence values mean(jack) - jack of the n items.
influence <- function(counts) {
  cells <- rep(1:4, counts)
  left <- sapply(seq_along(cells), function(i) statistics(tabulate(cells[-i], 4)))
  jack <- matrix(left, ncol = length(cells))
  t(rowMeans(jack) - jack)
}
skewness <- function(l) {
  if (!all(is.finite(l)) || sum(l^2) < 1e-20) return(NA)
  sum(l^3) / (6 * sum(l^2)^1.5)
}
bca_levels <- function(z0, a) {
  z <- qnorm(c(alpha / 2, 1 - alpha / 2))
  pnorm(z0 + (z0 + z) / (1 - a * (z0 + z)))
}

limits <- function(law, estimate, z0, a) {
  low <- lower_limit(law, alpha / 2)
  high <- upper_limit(law, 1 - alpha / 2)
  basic <- 2 * estimate - c(high, low)
  bca <- c(NA, NA)
  if (!is.na(a)) {
    levels <- bca_levels(z0, a)
    bca <- c(lower_limit(law, levels[1]), upper_limit(law, levels[2]))
  }
  rbind(percentile = c(low, high), basic = basic, bca = bca)
}

# ---- The exact law.

# A limit that the last digits of a probability decide is no reference value.
clear <- function(law, levels) {
  min(abs(law$below - levels[1]), abs(law$above - (1 - levels[2]))) > 1e-9
}

small <- rbind(
  c(1, 1, 7, 12), c(14, 5, 0, 21), c(12, 8, 4, 8), c(18, 5, 2, 5), c(10, 0, 0, 10),
  c(3, 2, 2, 3), c(20, 9, 3, 8), c(0, 6, 4, 0), c(5, 1, 1, 3), c(2, 17, 10, 11), c(33, 4, 2, 1)
)
exact <- do.call(rbind, lapply(seq_len(nrow(small)), function(number) {
  counts <- small[number, ]
  n <- sum(counts)
  stopifnot(n <= 40)
  outcomes <- as.matrix(expand.grid(0:n, 0:n, 0:n))
  outcomes <- outcomes[rowSums(outcomes) <= n, ]
  outcomes <- cbind(outcomes, n - rowSums(outcomes))
  # A cell that is empty stays empty.
  outcomes <- outcomes[rowSums(outcomes[, counts == 0, drop = FALSE]) == 0, , drop = FALSE]
  p <- apply(outcomes, 1, dmultinom, prob = counts)
  stopifnot(abs(sum(p) - 1) < 1e-12)
  drawn <- statistics(outcomes)
  estimate <- statistics(counts)
  l <- influence(counts)
  do.call(rbind, lapply(1:3, function(column) {
    this <- law(drawn[, column], p)
    z0 <- bias(this, estimate[column])
    a <- skewness(l[, column])
    found <- limits(this, estimate[column], z0, a)
    stopifnot(clear(this, c(alpha / 2, 1 - alpha / 2)), is.na(a) || clear(this, bca_levels(z0, a)))
    data.frame(
      n11 = counts[1], n10 = counts[2], n01 = counts[3], n00 = counts[4],
      statistic = colnames(drawn)[column], method = rownames(found), alpha = alpha,
      low = found[, 1], high = found[, 2], z0 = z0, acceleration = a, estimate = estimate[column]
    )
  }))
}))
write_exactly(exact, "bootstrap_exact.csv")

# ---- Replicates.

replicates <- 199999

# How far the limits move when their level moves by three Monte-Carlo standard errors; for BCa, of
# the level itself and of z0. 0 if the limit is still the same attained value.
monte_carlo <- function(law, estimate, z0, a) {
  moved <- function(limit, level, error) {
    reached <- c(limit(law, max(level - error, 0)), limit(law, min(level + error, 1)))
    here <- limit(law, level)
    max(ifelse(reached == here, 0, abs(reached - here)))
  }
  spread <- function(level) sqrt(level * (1 - level) / replicates)
  low <- moved(lower_limit, alpha / 2, 3 * spread(alpha / 2))
  high <- moved(upper_limit, 1 - alpha / 2, 3 * spread(1 - alpha / 2))
  bca <- c(NA, NA)
  if (!is.na(a)) {
    levels <- bca_levels(z0, a)
    z0_error <- spread(pnorm(z0)) / dnorm(z0)
    slope <- abs(bca_levels(z0 + 1e-5, a) - bca_levels(z0 - 1e-5, a)) / 2e-5
    error <- 3 * (spread(levels) + slope * z0_error)
    bca <- c(moved(lower_limit, levels[1], error[1]), moved(upper_limit, levels[2], error[2]))
  }
  rbind(percentile = c(low, high), basic = c(high, low), bca = bca)
}

tables <- rbind(
  c(60, 40, 20, 40), c(700, 83, 10, 8), c(30, 8, 2, 10), c(500, 5, 3, 20), c(1, 1, 7, 12),
  c(14, 5, 0, 22), c(40, 25, 25, 10), c(150, 31, 18, 77), c(20, 9, 3, 8), c(220, 60, 110, 310)
)
set.seed(37)
sampled <- do.call(rbind, lapply(seq_len(nrow(tables)), function(number) {
  counts <- tables[number, ]
  cells <- rep(1:4, counts)
  drawn <- boot(cells, function(cells, i) tabulate(cells[i], 4), replicates, simple = TRUE)
  drawn_statistics <- statistics(drawn$t)
  estimate <- statistics(counts)
  l <- influence(counts)
  # boot.ci works on the statistic: put it in the place of the counts.
  result <- drawn
  result$t0 <- drop(estimate)
  result$t <- drawn_statistics
  do.call(rbind, lapply(1:4, function(column) {
    this <- law(drawn_statistics[, column], rep(1 / replicates, replicates))
    z0 <- bias(this, estimate[column])
    a <- skewness(l[, column])
    found <- limits(this, estimate[column], z0, a)
    error <- monte_carlo(this, estimate[column], z0, a)
    # boot.ci interpolates between replicates, counts no ties in z0 and leaves out infinite ones.
    own <- matrix(NA, 3, 2)
    if (is.finite(estimate[column])) {
      ci <- boot.ci(result, 1 - alpha, c("perc", "basic"), index = column)
      own[1, ] <- ci$percent[4:5]
      own[2, ] <- ci$basic[4:5]
      if (!is.na(a)) {
        own[3, ] <- boot.ci(result, 1 - alpha, "bca", index = column, L = l[, column])$bca[4:5]
      }
    }
    data.frame(
      n11 = counts[1], n10 = counts[2], n01 = counts[3], n00 = counts[4],
      statistic = colnames(estimate)[column], method = rownames(found), alpha = alpha,
      low = found[, 1], high = found[, 2], mc_error_low = error[, 1], mc_error_high = error[, 2],
      boot_low = own[, 1], boot_high = own[, 2], z0 = z0, acceleration = a,
      estimate = estimate[column]
    )
  }))
}))
write_exactly(sampled, "bootstrap.csv")

# If both exist, the replicates' limits equal the exact ones up to their error.
both <- merge(exact, sampled, c(cell_names, "statistic", "method"))
gap <- function(x, y) ifelse(x == y | (is.na(x) & is.na(y)), 0, abs(x - y))
stopifnot(
  nrow(both) > 0,
  gap(both$low.x, both$low.y) <= ifelse(is.na(both$mc_error_low), 0, both$mc_error_low) + 1e-12,
  gap(both$high.x, both$high.y) <= ifelse(is.na(both$mc_error_high), 0, both$mc_error_high) + 1e-12
)
