# Reference values for the test of matched patterns, in base R.
# Run in this folder: Rscript matched_patterns.R
# (writes matched_patterns.csv)
#
# Two places and one kind of mark: an item is marked at the first or at the second place, on either
# side. Items of the strata (mark 1 or 2 on either side) form 2x2 tables; a match on the diagonal of
# a table is one match, so that the common odds ratio is that of the places squared.

write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) if (is.character(x)) x else sprintf("%.17g", x))
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

# A row a case: two 2x2 tables, by columns.
cases <- rbind(
  c(8, 3, 2, 9, 5, 2, 4, 6),
  c(20, 15, 14, 22, 3, 1, 0, 5),
  c(4, 6, 7, 3, 2, 5, 6, 1),
  c(30, 4, 6, 25, 12, 3, 2, 11),
  c(1, 2, 3, 1, 0, 1, 2, 2)
)
found <- t(apply(cases, 1, function(row) {
  tables <- array(row, c(2, 2, 2))
  two_sided <- mantelhaen.test(tables, exact = TRUE)
  upper <- mantelhaen.test(tables, exact = TRUE, alternative = "greater")$p.value
  lower <- mantelhaen.test(tables, exact = TRUE, alternative = "less")$p.value
  c(two_sided$estimate, two_sided$conf.int, min(1, 2 * min(upper, lower)))
}))
colnames(cases) <- c(paste0("first_", c("n11", "n21", "n12", "n22")),
                     paste0("second_", c("n11", "n21", "n12", "n22")))
colnames(found) <- c("odds_ratio", "ci_low", "ci_high", "p_value")
write_exactly(data.frame(cases, found), "matched_patterns.csv")
