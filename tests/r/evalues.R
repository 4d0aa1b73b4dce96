# Reference values for e-values of discordant pairs and their adjustment, in base R.
# Run in this folder: Rscript evalues.R  (writes evalues.csv, adjust_evalues.csv; a second)
#
# Written without the closed form: the likelihood ratio of a probability q against 1/2 is integrated
# over q ~ Beta(a, a), around its peak. The adjustment is p.adjust's of 1 / e.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x)))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

log_e <- function(n10, n01, a) {
  log_ratio <- function(q) n10 * log(2 * q) + n01 * log(2 * (1 - q))
  peak <- (n10 + 0.5) / (n10 + n01 + 1)
  top <- log_ratio(peak)
  # q = (1 + sin t) / 2: the density of Beta(1/2, 1/2) is then constant.
  f <- function(t) {
    q <- (1 + sin(t)) / 2
    value <- exp(log_ratio(q) - top) * dbeta(q, a, a) * cos(t) / 2
    ifelse(is.finite(value), value, 0)
  }
  middle <- asin(2 * peak - 1)
  width <- min(20 / sqrt(n10 + n01 + 1), 1)
  cuts <- sort(unique(pmin(pmax(middle + c(-4, -1, 0, 1, 4) * width, -pi / 2), pi / 2)))
  cuts <- sort(unique(c(-pi / 2, cuts, pi / 2)))
  parts <- mapply(function(l, h) integrate(f, l, h, rel.tol = 1e-10, subdivisions = 2000)$value,
                  cuts[-length(cuts)], cuts[-1])
  log(sum(parts)) + top
}

rows <- expand.grid(n10 = c(0, 1, 7, 83, 400), n01 = c(0, 1, 10, 380), a = c(0.5, 1, 20))
rows$log_e_value <- mapply(log_e, rows$n10, rows$n01, rows$a)
stopifnot(abs(rows$log_e_value[1]) < 1e-8)
write_exactly(rows, "evalues.csv")

e <- c(200, 45, 30, 0.5, 0, 30, 1e6, 1, 19.9, 20, 60, 2.5)
write_exactly(data.frame(e_value = e, adjusted = p.adjust(pmin(1, 1 / e), "BH")),
              "adjust_evalues.csv")
