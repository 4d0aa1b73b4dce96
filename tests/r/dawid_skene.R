# Reference values for the tests of Dawid and Skene's EM, on the data of their Table 1.
# Run in this folder: Rscript dawid_skene.R
# (reads dawid_skene_data.csv: 45 patients, 5 anaesthetists of whom the first rated three times;
# writes dawid_skene.csv)
#
# The data are as the public transcription github.com/dallascard/dawid_skene has them. That of the R
# package rater differs in one rating: patient 7 is 1, 1, 2 there for observer 1, here 1, 2, 2.
#
# EM is written out over patients, raters and categories. That what it finds is a maximum of the
# likelihood is checked separately: optim, started there on softmax parameters, finds no higher one.

data <- read.csv("dawid_skene_data.csv")
n <- array(0, c(45, 5, 4))
for (row in seq_len(nrow(data))) {
  at <- cbind(data$patient[row], data$observer[row], data$class[row])
  n[at] <- n[at] + 1
}
post <- apply(n, c(1, 3), sum)
post <- post / rowSums(post)
loglik <- function(p, pi) {
  total <- 0
  for (i in 1:45) {
    each <- sapply(1:4, function(j) p[j] * prod(pi[, j, ]^n[i, , ]))
    total <- total + log(sum(each))
  }
  total
}
for (step in 1:5000) {
  p <- colMeans(post)
  pi <- array(0, c(5, 4, 4)) # observer, true, said
  for (k in 1:5) for (j in 1:4) {
    said <- colSums(post[, j] * n[, k, ])
    pi[k, j, ] <- said / sum(said)
  }
  old <- post
  for (i in 1:45) {
    each <- sapply(1:4, function(j) p[j] * prod(pi[, j, ]^n[i, , ]))
    post[i, ] <- each / sum(each)
  }
  if (max(abs(post - old)) < 1e-14) break
}
best <- loglik(p, pi)
free <- function(theta) {
  p <- exp(theta[1:4]) / sum(exp(theta[1:4]))
  pi <- array(exp(theta[-(1:4)]), c(5, 4, 4))
  loglik(p, sweep(pi, 1:2, apply(pi, 1:2, sum), "/"))
}
start <- log(pmax(c(p, pi), 1e-6))
higher <- optim(start, free, method = "BFGS", control = list(fnscale = -1, maxit = 200))$value
stopifnot(abs(free(log(c(p, pi) + 1e-300)) - best) < 1e-9, higher < best + 1e-3)

rows <- rbind(
  data.frame(what = "log_likelihood", a = 0, b = 0, c = 0, value = best),
  data.frame(what = "prevalence", a = 1:4, b = 0, c = 0, value = p),
  data.frame(what = "error", expand.grid(a = 1:5, b = 1:4, c = 1:4), value = c(pi)),
  data.frame(what = "posterior", expand.grid(a = 1:45, b = 1:4), c = 0, value = c(post))
)
rows$value <- sprintf("%.15g", rows$value)
write.csv(rows, "dawid_skene.csv", row.names = FALSE, quote = FALSE)
cat(step, "steps;", best, higher, "\n")
