# Reference values for tests/inference/test_intraclass.py, by R's package psych (Debian: r-cran-psych):
# Rscript tests/r/intraclass.R > tests/r/intraclass.csv
# The first table is that of Shrout & Fleiss (1979), Psychological Bulletin 86:420-428.
suppressMessages(library(psych))

tables <- list(
  shrout = rbind(c(9, 2, 5, 8), c(6, 1, 3, 2), c(8, 4, 6, 8), c(7, 1, 2, 6), c(10, 5, 6, 9), c(6, 2, 4, 7)),
  pair = cbind(c(1, 2, 3, 3, 5, 4, 2, 1, 4, 5), c(1, 3, 3, 2, 5, 5, 1, 2, 4, 4)),
  apart = cbind(c(1, 5, 2, 4, 3), c(5, 1, 4, 2, 2), c(3, 3, 1, 5, 4))
)
kinds <- c(ICC2 = "agreement,FALSE", ICC3 = "consistency,FALSE", ICC2k = "agreement,TRUE", ICC3k = "consistency,TRUE")
cat("table,kind,mean_of_raters,alpha,estimate,ci_low,ci_high\n")
for (name in names(tables)) for (alpha in c(0.05, 0.1)) {
  found <- ICC(tables[[name]], lmer = FALSE, alpha = alpha)$results
  for (type in names(kinds)) {
    row <- found[found$type == type, ]
    cat(sprintf("%s,%s,%g,%.10f,%.10f,%.10f\n", name, kinds[[type]], alpha, row$ICC,
                row[["lower bound"]], row[["upper bound"]]))
  }
}
