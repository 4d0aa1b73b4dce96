# Reference values for the tests of answer letters, of several groups, of families of p-values and
# of clustered pairs, in base R.
# Run in this folder: Rscript tests.R
# (writes letters.csv, cochran.csv, adjust.csv, cluster_mcnemar.csv)
#
# Written without sight of the package's code: the letters and Cochran's Q are computed from one
# row per item, not from counts; Bowker's statistic is checked against mcnemar.test where it has an
# answer, Cochran's Q is friedman.test's and checked against the textbook's formula, and the law of
# the clusters' signs is enumerated. NA means that a statistic is undefined.

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}
upper <- function(statistic, df) pchisq(statistic, df, lower.tail = FALSE)
close_to <- function(x, y) isTRUE(all.equal(as.numeric(x), as.numeric(y), tolerance = 1e-10))

# ---- Letters: rows are the answers in group a, columns those in group b.

bowker <- function(a, b) {
  statistic <- 0
  df <- 0
  for (i in 1:3) for (j in (i + 1):4) {
    there <- sum(a == i & b == j)
    back <- sum(a == j & b == i)
    if (there + back > 0) {
      statistic <- statistic + (there - back)^2 / (there + back)
      df <- df + 1
    }
  }
  c(statistic, df, if (df == 0) NA else upper(statistic, df))
}

# One column per letter that either group uses: 1 if only a gave it, -1 if only b did. The
# sums are the differences of the margins, the cross products Stuart's covariance under homogeneity.
indicator_differences <- function(a, b) {
  used <- sort(unique(c(a, b)))
  outer(a, used, "==") - outer(b, used, "==")
}

# The last letter used is dropped. NA if the covariance is still singular: a letter that
# was never exchanged for another, or two sets of letters with no exchange between them.
stuart_maxwell <- function(a, b) {
  scores <- indicator_differences(a, b)
  k <- ncol(scores)
  if (k < 2) return(c(NA, NA, NA))
  scores <- scores[, -k, drop = FALSE]
  variance <- crossprod(scores)
  if (qr(variance, tol = 1e-9)$rank < k - 1) return(c(NA, NA, NA))
  d <- colSums(scores)
  statistic <- max(0, drop(d %*% solve(variance, d)))
  c(statistic, k - 1, upper(statistic, k - 1))
}

# The same with Moore and Penrose's inverse and the rank as degrees of freedom: defined for every
# table with discordance, and equal to the above if that is defined.
stuart_maxwell_rank <- function(a, b) {
  scores <- indicator_differences(a, b)
  parts <- eigen(crossprod(scores), symmetric = TRUE)
  keep <- parts$values > 1e-9 * max(parts$values, 1)
  if (!any(keep)) return(c(NA, NA, NA))
  along <- drop(colSums(scores) %*% parts$vectors[, keep, drop = FALSE])
  statistic <- sum(along^2 / parts$values[keep])
  c(statistic, sum(keep), upper(statistic, sum(keep)))
}

tables <- rbind(
  c(30, 4, 6, 2, 3, 41, 5, 7, 8, 2, 25, 6, 1, 9, 4, 33),         # every pair has exchanges
  c(120, 10, 5, 3, 18, 90, 12, 6, 9, 20, 80, 7, 14, 11, 19, 70),
  c(20, 5, 5, 5, 5, 20, 5, 5, 5, 5, 20, 5, 5, 5, 5, 20),         # symmetric
  c(10, 6, 2, 1, 2, 12, 6, 3, 6, 2, 9, 4, 1, 3, 4, 11),          # equal margins, not symmetric
  c(400, 31, 12, 5, 2, 350, 22, 9, 7, 3, 280, 41, 1, 2, 6, 310),
  c(5, 0, 1, 0, 2, 3, 0, 0, 0, 1, 4, 0, 0, 0, 1, 2),             # sparse
  c(8, 1, 0, 0, 0, 7, 1, 0, 0, 0, 9, 1, 0, 0, 0, 6),             # a chain, one way
  c(0, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 4, 1, 0, 0, 0),             # no pair agrees
  c(12, 0, 0, 0, 0, 15, 0, 0, 0, 0, 9, 0, 0, 0, 0, 11),          # diagonal
  c(25, 9, 0, 0, 3, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),           # letters 1 and 2 alone
  c(0, 0, 0, 0, 0, 14, 0, 7, 0, 0, 0, 0, 0, 2, 0, 10),           # letters 2 and 4 alone
  c(11, 4, 1, 0, 2, 13, 5, 0, 6, 3, 10, 0, 0, 0, 0, 0),          # letter 4 never given
  c(11, 4, 1, 0, 2, 13, 5, 0, 6, 3, 10, 0, 0, 0, 0, 8),          # letter 4 never exchanged
  c(9, 5, 0, 0, 1, 8, 0, 0, 0, 0, 7, 2, 0, 0, 6, 10),            # 1 with 2 and 3 with 4 alone
  c(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),             # one item
  c(6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)              # letter 1 alone
)
letters_rows <- apply(tables, 1, function(row) {
  counts <- matrix(row, 4, byrow = TRUE)
  cell <- rep(1:16, row)
  a <- (cell - 1) %/% 4 + 1
  b <- (cell - 1) %% 4 + 1
  symmetry <- bowker(a, b)
  margins <- stuart_maxwell(a, b)
  rank <- stuart_maxwell_rank(a, b)
  pairs <- (counts + t(counts))[upper.tri(counts)]
  if (all(pairs > 0)) {
    test <- mcnemar.test(counts)
    stopifnot(close_to(test$statistic, symmetry[1]), test$parameter == symmetry[2],
              close_to(test$p.value, symmetry[3]))
  }
  if (!is.na(margins[1])) stopifnot(close_to(margins, rank))
  # On two letters both tests are McNemar's.
  used <- which(rowSums(counts) + colSums(counts) > 0)
  if (length(used) == 2) {
    test <- mcnemar.test(counts[used, used], correct = FALSE)
    stopifnot(close_to(symmetry, c(test$statistic, 1, test$p.value)), close_to(margins, symmetry))
  }
  c(symmetry, margins, rank)
})
letters_frame <- data.frame(tables, t(letters_rows))
names(letters_frame) <- c(
  paste0("c", rep(1:4, each = 4), rep(1:4, 4)), "bowker", "bowker_df", "bowker_p",
  "stuart_maxwell", "stuart_maxwell_df", "stuart_maxwell_p",
  "stuart_maxwell_rank", "stuart_maxwell_rank_df", "stuart_maxwell_rank_p"
)
write_exactly(letters_frame, "letters.csv")

# ---- Cochran's Q: one column per group, one row per item, 1 if the answer is right.

cochran <- function(raw) {
  k <- ncol(raw)
  # Items with equal answers in all groups do not count; without other items the groups are equal.
  if (all(rowSums(raw) %in% c(0, k))) return(c(0, 1))
  test <- friedman.test(raw)
  rows <- rowSums(raw)
  columns <- colSums(raw)
  q <- k * (k - 1) * sum((columns - mean(columns))^2) / sum(rows * (k - rows))
  stopifnot(close_to(test$statistic, q), test$parameter == k - 1)
  c(test$statistic, test$p.value)
}
cases <- list(
  c("111" = 6, "110" = 4, "101" = 2, "011" = 1, "100" = 3, "010" = 1, "001" = 0, "000" = 5),
  c("111" = 40, "110" = 12, "101" = 9, "011" = 3, "100" = 14, "010" = 6, "001" = 2, "000" = 31),
  c("111" = 10, "110" = 2, "101" = 2, "011" = 2, "000" = 4),
  c("111" = 8, "000" = 5),
  c("101" = 7),
  c("100" = 2),
  c("110" = 1, "000" = 3, "111" = 20),
  c("1111" = 20, "1110" = 5, "1101" = 3, "1011" = 2, "0111" = 1, "1100" = 6, "1010" = 4,
    "1001" = 2, "0110" = 1, "0101" = 2, "0011" = 1, "1000" = 7, "0100" = 3, "0010" = 2,
    "0001" = 1, "0000" = 15),
  c("1111" = 300, "1110" = 21, "0111" = 9, "1010" = 30, "0101" = 12, "0001" = 8, "0000" = 120),
  c("1100" = 3, "0011" = 3, "1111" = 2),
  c("1111" = 3, "0000" = 2),
  c("1000" = 2, "1111" = 1)
)
cochran_frame <- do.call(rbind, lapply(seq_along(cases), function(number) {
  counts <- cases[[number]]
  rows <- rep(names(counts), counts)
  raw <- do.call(rbind, lapply(strsplit(rows, ""), as.integer))
  q <- cochran(raw)
  data.frame(case = number, pattern = names(counts), count = unname(counts),
             statistic = unname(q[1]), p = unname(q[2]))
}))
write_exactly(cochran_frame, "cochran.csv")

# ---- Families of p-values.

set.seed(29)
families <- list(
  0.03, c(0.01, 0.04, 0.03), rep(0.02, 4), c(0, 1, 0.5), rep(1, 3),
  c(0.01, 0.01, 0.02, 0.02, 0.03, 0.2, 0.2, 1), c(1e-17, 1e-15, 0.2, 0.9, 0.9),
  round(rbeta(25, 0.5, 2), 3), c(rep(1, 5), 1e-9), c(0.04, 0.041, 0.042, 0.043, 0.044)
)
adjust <- do.call(rbind, lapply(seq_along(families), function(number) {
  p <- families[[number]]
  data.frame(
    family = number, p = p, holm = p.adjust(p, "holm"), BH = p.adjust(p, "BH"),
    BY = p.adjust(p, "BY"), hommel = p.adjust(p, "hommel")
  )
}))
write_exactly(adjust, "adjust.csv")

# ---- Clusters of repeated pairs: the difference n10 - n01 of each cluster keeps its size and takes
# either sign with probability 1 / 2.

sign_flips <- function(d) {
  s <- abs(sum(d))
  size <- abs(d[d != 0])
  total <- 0
  if (length(size) > 0) {
    signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), length(size))))
    total <- abs(drop(signs %*% size))
  }
  exact <- mean(total >= s)
  plain <- mean(total > s) + mean(total == s) / 2
  squares <- sum(d^2)
  obuchowski <- if (squares == 0) NA else sum(d)^2 / squares
  if (length(size) > 0 && all(size == 1)) {
    stopifnot(close_to(exact, binom.test(sum(d == 1), length(size))$p.value))
    pairs <- matrix(c(5, sum(d == -1), sum(d == 1), 5), 2)
    stopifnot(close_to(obuchowski, mcnemar.test(pairs, correct = FALSE)$statistic))
  }
  # midp_p is 1 if the sum is 0; midp_plain_p is the definition without that exception.
  c(exact, if (s == 0) 1 else plain, plain, obuchowski,
    if (is.na(obuchowski)) NA else upper(obuchowski, 1))
}
clusters <- list(
  c(1, 1, 1, -1, 1, 0, 1), rep(1, 6), c(rep(1, 4), rep(-1, 4)), c(rep(1, 10), rep(-1, 3), rep(0, 40)),
  c(rep(1, 11), rep(-1, 4)), 1, -1, 3, c(2, -2), c(3, 2, 1, -1), c(4, 3, 3, 2, -1, 0, 0),
  c(5, -4, 3, -2, 1, 1, 0), c(-6, -2, -2, -1, 1, 1, 0, 0, 0), c(1, 2, 3, 4, 5, 6, 7, 8),
  c(10, 1, 1, 1, -1, -1, -1), c(10, -1, -1, -1), c(8, 5, 5, 3, 2, 2, 1, 1, 1, -1, -1, -2, -3, -4, 6),
  c(2, 2, 2, 2, -2, -2, 4, 4, -4, 0), c(12, 7, -3, -3, 5, 1, 1, 1, 2, -2, 4, 9, -6, 0, 0),
  c(0, 0, 0), c(3, -1, -1, -1), rep(3, 5), c(rep(1, 14), -1)
)
cluster_frame <- do.call(rbind, lapply(seq_along(clusters), function(number) {
  d <- clusters[[number]]
  stopifnot(sum(d != 0) <= 15)
  values <- sort(unique(d), decreasing = TRUE)
  p <- sign_flips(d)
  data.frame(
    case = number, difference = values, count = sapply(values, function(v) sum(d == v)),
    exact_p = p[1], midp_p = p[2], midp_plain_p = p[3], obuchowski = p[4], obuchowski_p = p[5]
  )
}))
write_exactly(cluster_frame, "cluster_mcnemar.csv")
