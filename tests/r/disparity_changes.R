# The p-value of a change of mean AD: all sign flips of items by convolution, for every choice of
# signs of three pairs, with the exact tests of the signs and the bound of the observed sum.
# Rscript tests/r/disparity_changes.R > tests/r/disparity_changes.csv

# The differences (right for a minus right for b) of item i to pair p.
answers <- function(n, up, down) {
  i <- 0:(n - 1)
  sapply(seq_along(up), function(p) {
    place <- (i * 7 + 13 * p) %% 31
    (place < up[p]) - (place >= up[p] & place < up[p] + down[p])
  })
}

flips <- function(change) {
  law <- 1
  for (size in abs(change[change != 0])) {
    wide <- numeric(length(law) + 2 * size)
    at <- seq_along(law)
    wide[at] <- law / 2
    wide[at + 2 * size] <- wide[at + 2 * size] + law / 2
    law <- wide
  }
  sums <- seq_along(law) - (length(law) + 1) / 2
  seen <- abs(sum(change))
  list(beyond = sum(law[abs(sums) > seen + 0.5]), equal = sum(law[abs(abs(sums) - seen) < 0.5]))
}
midp <- function(change) {
  of <- flips(change)
  if (sum(change) == 0) 1 else of$beyond + of$equal / 2
}
one_sided <- function(change) {
  of <- flips(change)
  if (sum(change) == 0) 1 else (of$beyond + of$equal) / 2
}

p_value <- function(old, new) {
  m <- ncol(old)
  every <- as.matrix(expand.grid(rep(list(c(1, -1)), 2 * m)))
  seen <- ifelse(c(colSums(old), colSums(new)) > 0, 1, -1)
  against <- 2 * m * apply(cbind(old, new), 2, one_sided) / 0.01
  of_choices <- apply(every, 1, function(s) {
    p <- midp(new %*% s[m + 1:m] - old %*% s[1:m]) / 0.89
    min(p, against[s != seen])
  })
  larger <- sum(abs(colSums(new))) > sum(abs(colSums(old)))
  large <- if (larger) new else old
  small <- if (larger) old else new
  total <- large %*% ifelse(colSums(large) > 0, 1, -1)
  any <- as.matrix(expand.grid(rep(list(c(1, -1)), m)))
  of_sum <- max(apply(any, 1, function(s) midp(total - small %*% s)))
  min(max(of_choices), 2^m * of_sum / 0.1, 1)
}

cases <- list(
  list(n = 120, old = rbind(c(9, 8, 7), c(3, 3, 3)), new = rbind(c(1, 2, 1), c(1, 1, 1))),
  list(n = 200, old = rbind(c(1, 1, 2), c(1, 2, 1)), new = rbind(c(9, 4, 6), c(2, 2, 3))),
  list(n = 90, old = rbind(c(4, 2, 3), c(2, 3, 3)), new = rbind(c(6, 5, 2), c(3, 2, 6)))
)
cat("n,old_up,old_down,new_up,new_down,p_value\n")
for (own in cases) {
  old <- answers(own$n, own$old[1, ], own$old[2, ])
  new <- answers(own$n, own$new[1, ], own$new[2, ])
  words <- function(x) paste(x, collapse = " ")
  cat(own$n, words(own$old[1, ]), words(own$old[2, ]), words(own$new[1, ]), words(own$new[2, ]),
    format(p_value(old, new), digits = 15), sep = ",")
  cat("\n")
}
