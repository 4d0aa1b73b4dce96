# Reference values for agreement coefficients, in base R.
# Run in this folder: Rscript agreement.R
# (writes agreement_data.csv and agreement.csv)
#
# Written without sight of the package's code: pairs of ratings are gone through one by one, and not
# counted. The functions are checked here against what others document: Fleiss' kappa and AC1 of
# irrCAC's cac.raw4raters (which keeps items with one rating for the shares of the categories; the
# package leaves them out), Fleiss' kappa of the worked table of 10 items and 14 raters, and
# Krippendorff's worked example.

write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}
near <- function(x, y, decimals) stopifnot(abs(x - y) < 0.5 * 10^-decimals + 1e-12)

rated <- function(x, least) x[rowSums(!is.na(x)) >= least, , drop = FALSE]

percent <- function(x) {
  mean(apply(rated(x, 2), 1, function(row) {
    row <- row[!is.na(row)]
    pairs <- combn(length(row), 2)
    mean(row[pairs[1, ]] == row[pairs[2, ]])
  }))
}
shares <- function(x, k, least = 2) {
  rowMeans(apply(rated(x, least), 1, function(row) {
    sapply(1:k, function(category) mean(row[!is.na(row)] == category))
  }))
}
randolph <- function(x, k) (percent(x) - 1 / k) / (1 - 1 / k)
fleiss <- function(x, k, least = 2) {
  chance <- sum(shares(x, k, least)^2)
  (percent(x) - chance) / (1 - chance)
}
ac1 <- function(x, k, least = 2) {
  p <- shares(x, k, least)
  chance <- sum(p * (1 - p)) / (k - 1)
  (percent(x) - chance) / (1 - chance)
}
# Every ordered pair of two ratings of an item counts 1 / (m - 1); all pairs of ratings equally.
krippendorff <- function(x, k, level) {
  x <- rated(x, 2)
  all <- x[!is.na(x)]
  n <- length(all)
  total <- sapply(1:k, function(category) sum(all == category))
  distance <- function(a, b) {
    if (level == "nominal") return(as.numeric(a != b))
    if (level == "interval") return((a - b)^2)
    if (a == b) return(0)
    between <- min(a, b):max(a, b)
    (sum(total[between]) - (total[a] + total[b]) / 2)^2
  }
  observed <- 0
  for (i in seq_len(nrow(x))) {
    row <- x[i, ][!is.na(x[i, ])]
    m <- length(row)
    for (a in 1:m) for (b in 1:m) {
      if (a != b) observed <- observed + distance(row[a], row[b]) / (m - 1)
    }
  }
  expected <- 0
  for (a in 1:n) for (b in 1:n) if (a != b) expected <- expected + distance(all[a], all[b])
  1 - (observed / n) / (expected / (n * (n - 1)))
}

gwet <- rbind(
  c(1, 1, NA, 1), c(2, 2, 3, 2), c(3, 3, 3, 3), c(3, 3, 3, 3), c(2, 2, 2, 2), c(1, 2, 3, 4),
  c(4, 4, 4, 4), c(1, 1, 2, 1), c(2, 2, 2, 2), c(NA, 5, 5, 5), c(NA, NA, 1, 1), c(NA, 3, NA, NA)
)
near(percent(gwet), 0.81818, 5)
near(ac1(gwet, 5, least = 1), 0.77544, 5)
near(fleiss(gwet, 5, least = 1), 0.76117, 5)
near(krippendorff(gwet, 5, "nominal"), 0.74342, 5)
near(krippendorff(gwet, 5, "ordinal"), 0.815, 3)

ten_counts <- rbind(
  c(0, 0, 0, 0, 14), c(0, 2, 6, 4, 2), c(0, 0, 3, 5, 6), c(0, 3, 9, 2, 0), c(2, 2, 8, 1, 1),
  c(7, 7, 0, 0, 0), c(3, 2, 6, 3, 0), c(2, 5, 3, 2, 2), c(6, 5, 2, 1, 0), c(0, 2, 2, 3, 7)
)
ten <- t(apply(ten_counts, 1, function(counts) rep(1:5, counts)))
near(fleiss(ten, 5), 0.20993, 5)
near(randolph(ten, 5), 0.22253, 5)

three <- t(rbind(
  c(NA, NA, NA, NA, NA, 3, 4, 1, 2, 1, 1, 3, 3, NA, 3),
  c(1, NA, 2, 1, 3, 3, 4, 3, NA, NA, NA, NA, NA, NA, NA),
  c(NA, NA, 2, 1, 3, 4, 4, NA, 2, 1, 1, 3, 3, NA, 4)
))
near(krippendorff(three, 4, "nominal"), 0.69136, 5)
near(krippendorff(three, 4, "interval"), 0.81084, 5)

# Two categories, one of them rare, with gaps.
set.seed(7)
rare <- matrix(1 + (runif(160) < 0.06), 40, 4)
rare[c(1, 2), ] <- c(2, 2, 2, 2, 2, 1, 2, 2)
rare[runif(160) < 0.2] <- NA

sets <- list(
  gwet = list(gwet, 5), ten = list(ten, 5), three = list(three, 4), rare = list(rare, 2)
)
data <- values <- NULL
for (name in names(sets)) {
  x <- sets[[name]][[1]]
  k <- sets[[name]][[2]]
  data <- rbind(data, data.frame(
    set = name, item = as.vector(row(x)), rater = as.vector(col(x)), rating = as.vector(x)
  ))
  found <- c(
    percent = percent(x), randolph = randolph(x, k), fleiss = fleiss(x, k), gwet_ac1 = ac1(x, k),
    nominal = krippendorff(x, k, "nominal"), ordinal = krippendorff(x, k, "ordinal"),
    interval = krippendorff(x, k, "interval")
  )
  values <- rbind(values, data.frame(
    set = name, categories = k, coefficient = names(found), estimate = unname(found)
  ))
}
write_exactly(data, "agreement_data.csv")
write_exactly(values, "agreement.csv")
