# Reference values for the tests of two groups in strata, by mantelhaen.test.
# Run in this folder: Rscript mantel_haenszel.R  (writes mantel_haenszel.csv)
#
# Each stratum is right_a, wrong_a, right_b, wrong_b. The exact p-value and limits are those of the
# conditional test; the odds ratio and its asymptotic limits are Mantel and Haenszel's.

write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}
pair <- function(n11, n10, n01, n00) {
  rbind(
    matrix(rep(c(1, 0, 1, 0), n11), ncol = 4, byrow = TRUE),
    matrix(rep(c(1, 0, 0, 1), n10), ncol = 4, byrow = TRUE),
    matrix(rep(c(0, 1, 1, 0), n01), ncol = 4, byrow = TRUE),
    matrix(rep(c(0, 1, 0, 1), n00), ncol = 4, byrow = TRUE)
  )
}
set.seed(12)
drawn <- function(strata, size, odds) {
  t(sapply(seq_len(strata), function(k) {
    p <- plogis(rnorm(1))
    q <- plogis(qlogis(p) + log(odds))
    a <- rbinom(1, size, q)
    b <- rbinom(1, size + k %% 3, p)
    c(a, size - a, b, size + k %% 3 - b)
  }))
}
cases <- list(
  pair(3, 7, 1, 2), pair(0, 5, 5, 1), pair(4, 12, 3, 1), pair(2, 6, 0, 1), pair(1, 2, 9, 0),
  drawn(12, 5, 2), drawn(8, 10, 1), drawn(20, 3, 0.4), drawn(5, 40, 1.3), drawn(3, 2, 6),
  rbind(c(5, 0, 2, 3), c(4, 1, 1, 4), c(5, 0, 4, 1)),
  rbind(c(0, 3, 3, 0), c(0, 2, 1, 1)),
  rbind(c(10, 2, 6, 6), c(3, 9, 5, 5))
)
frame <- do.call(rbind, lapply(seq_along(cases), function(number) {
  rows <- cases[[number]]
  informative <- rows[, 1] + rows[, 3] > 0 & rows[, 2] + rows[, 4] > 0
  kept <- rows[informative, , drop = FALSE]
  tables <- array(t(kept[, c(1, 3, 2, 4)]), c(2, 2, nrow(kept)))
  exact <- mantelhaen.test(tables, exact = TRUE)
  plain <- mantelhaen.test(tables, correct = FALSE)
  n <- rowSums(kept)
  odds <- sum(kept[, 1] * kept[, 4] / n) / sum(kept[, 2] * kept[, 3] / n)
  stopifnot(isTRUE(all.equal(odds, unname(plain$estimate))))
  limits <- if (is.finite(odds) && odds > 0) plain$conf.int else c(NA, NA)
  data.frame(
    case = number, right_a = rows[, 1], wrong_a = rows[, 2], right_b = rows[, 3],
    wrong_b = rows[, 4], odds_ratio = odds, exact_p = exact$p.value,
    exact_low = exact$conf.int[1], exact_high = exact$conf.int[2], asymptotic_p = plain$p.value,
    asymptotic_low = limits[1], asymptotic_high = limits[2]
  )
}))
write_exactly(frame, "mantel_haenszel.csv")
