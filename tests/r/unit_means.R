# Reference values for the tests of means over units, with clubSandwich and sandwich.
# Run in this folder: Rscript unit_means.R
# (writes unit_means.csv from unit_means_data.csv, which it draws)
#
# Debian: apt-get install r-base-core r-cran-clubsandwich
#
# Each case is a regression of the answers on the group, with units as clusters: CR2 variance with
# the identity as working model, and Satterthwaite's degrees of freedom.

suppressMessages(library(clubSandwich))

write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

set.seed(20020729)
draw <- function(case, sizes_a, sizes_b, between) {
  k <- length(sizes_a)
  unit <- c(rep(seq_len(k), sizes_a), rep(seq_len(k), sizes_b))
  group <- rep(c("a", "b"), c(sum(sizes_a), sum(sizes_b)))
  effect <- rnorm(k, sd = between)[unit]
  y <- round(pmin(pmax(50 + 0.6 * (group == "a") + effect + rnorm(length(unit)), 0), 100), 2)
  data.frame(case, unit, group, y)
}
uneven <- c(1, 2, 3, 5, 8, 10, 1, 4, 2, 6, 7, 3)
data <- rbind(
  draw("equal", rep(3, 10), rep(3, 10), 1),
  draw("complete", uneven, uneven, 1),
  draw("incomplete", uneven, pmax(uneven - c(1, 0, 2), 0), 1),
  draw("separate", c(uneven[1:6], rep(0, 6)), c(rep(0, 6), uneven[7:12]), 0.5),
  draw("dominated", c(40, rep(2, 9)), c(35, rep(2, 9)), 2)
)
write_exactly(data, "unit_means_data.csv")

rows <- NULL
for (case in unique(data$case)) {
  own <- data[data$case == case, ]
  own$a <- as.numeric(own$group == "a")
  fit <- lm(y ~ a, own)
  v <- vcovCR(fit, own$unit, "CR2")
  test <- coef_test(fit, v, "Satterthwaite")
  limits <- conf_int(fit, v, level = 0.95, test = "Satterthwaite")
  rows <- rbind(rows, data.frame(
    case, statistic = "difference", estimate = coef(fit)[["a"]], se = test$SE[2],
    df = test$df[2], low = limits$CI_L[2], high = limits$CI_U[2]
  ))
  mean_fit <- lm(y ~ 1, own[own$group == "a", ])
  v <- vcovCR(mean_fit, own$unit[own$group == "a"], "CR2")
  test <- coef_test(mean_fit, v, "Satterthwaite")
  limits <- conf_int(mean_fit, v, level = 0.95, test = "Satterthwaite")
  rows <- rbind(rows, data.frame(
    case, statistic = "mean_a", estimate = coef(mean_fit)[[1]], se = test$SE[1],
    df = test$df[1], low = limits$CI_L[1], high = limits$CI_U[1]
  ))
}
write_exactly(rows, "unit_means.csv")
