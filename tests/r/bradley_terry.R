# Reference values for the tests of Bradley-Terry and Davidson strengths.
# Run in this folder: Rscript bradley_terry.R
# (writes bradley_terry_data.csv and bradley_terry.csv; needs sandwich and BradleyTerry2)
#
# Without ties: glm on the differences of indicators, sandwich::vcovCL by items, by raters, by
# cells (the ratings of an item by a rater) and two-way, and BradleyTerry2's fit for comparison. All
# are HC0 with cadjust = TRUE, G / (G - 1) for each kind of cluster; two-way with multi0 = FALSE,
# which leaves that to the cells, too. With ties: Davidson's model as a loglinear one (Fienberg &
# Larntz 1976), whose estimates glm gives; its clustered errors by numerical derivatives of the
# likelihood.

suppressMessages({library(sandwich); library(BradleyTerry2)})
set.seed(20)
models <- c("alpha", "beta", "gamma", "delta")
strength <- c(0.6, 0.1, -0.2, -0.5)

draw <- function(kind, nu, items) {
  rows <- NULL
  leaning <- matrix(rnorm(9 * 4, 0, 0.5), 9) # raters differ in what they like
  task <- 0
  for (item in seq_len(items)) {
    quality <- rnorm(4, 0, 0.7) # of the answers to this item: each is in several tasks
    for (pair in sample(combn(4, 2, simplify = FALSE), 3)) {
      task <- task + 1
      for (rater in sample(9, sample(1:4, 1))) {
        weight <- exp((strength + quality + leaning[rater, ])[pair])
        weight <- c(weight, nu * sqrt(prod(weight)))
        said <- sample(c("1", "2", "0"), 1, prob = weight)
        rows <- rbind(rows, data.frame(kind, task, item, rater, first = pair[1], second = pair[2], said))
      }
    }
  }
  rows
}
data <- rbind(draw("plain", 0, 40), draw("ties", 1.5, 50))
shown <- transform(data, first = models[first], second = models[second])
write.csv(shown, "bradley_terry_data.csv", row.names = FALSE, quote = FALSE)

# Of models 2 to 4, the first being 0: strengths that sum to 0, and the first two's difference.
at <- rbind(rbind(0, diag(3)) - 1 / 4, c(-1, 0, 0))
errors <- function(covariances) sapply(covariances, function(v) sqrt(pmax(diag(at %*% v %*% t(at)), 0)))

# ---- Without ties
plain <- data[data$kind == "plain", ]
x <- outer(plain$first, 2:4, "==") - outer(plain$second, 2:4, "==")
fit <- glm(as.numeric(plain$said == "1") ~ 0 + x, family = binomial, control = list(epsilon = 1e-14))
by <- function(cluster) vcovCL(fit, cluster = cluster, type = "HC0", cadjust = TRUE, multi0 = FALSE)
one <- errors(list(
  two_way = by(plain[c("item", "rater")]), items = by(plain$item), raters = by(plain$rater),
  cells = by(paste(plain$item, plain$rater)), single = by(seq_len(nrow(plain)))
))
own <- BTm(
  outcome = as.numeric(plain$said == "1"),
  player1 = factor(models[plain$first], levels = models),
  player2 = factor(models[plain$second], levels = models)
)
stopifnot(all.equal(unname(coef(own)), unname(coef(fit)), tolerance = 1e-6))

# ---- With ties
ties <- data[data$kind == "ties", ]
loglik <- function(theta, rows = ties) {
  s <- c(0, theta[1:3])
  a <- s[rows$first]
  b <- s[rows$second]
  neither <- theta[4] + (a + b) / 2
  picked <- ifelse(rows$said == "1", a, ifelse(rows$said == "2", b, neither))
  picked - log(exp(a) + exp(b) + exp(neither))
}
cells <- expand.grid(said = c("1", "2", "0"), pair = combn(4, 2, paste, collapse = " "))
cells$first <- as.numeric(substr(cells$pair, 1, 1))
cells$second <- as.numeric(substr(cells$pair, 3, 3))
cells$n <- mapply(
  function(said, i, j) sum(ties$said == said & ties$first == i & ties$second == j),
  cells$said, cells$first, cells$second
)
share <- function(model) {
  (cells$said == "1") * (cells$first == model) + (cells$said == "2") * (cells$second == model) +
    (cells$said == "0") * ((cells$first == model) + (cells$second == model)) / 2
}
z <- cbind(sapply(2:4, share), tie = cells$said == "0")
log_linear <- glm(n ~ 0 + factor(pair) + z, family = poisson, data = cells,
                  control = list(epsilon = 1e-14))
theta <- unname(coef(log_linear)[7:10])
h <- 1e-4
moved <- function(k, by) loglik(replace(theta, k, theta[k] + by))
scores <- sapply(1:4, function(k) (moved(k, h) - moved(k, -h)) / (2 * h))
stopifnot(max(abs(colSums(scores))) < 1e-4)
information <- -optimHess(theta, function(t) sum(loglik(t)), control = list(ndeps = rep(1e-4, 4)))
bread <- solve(information)
covariance <- function(cluster) {
  summed <- rowsum(scores, cluster)
  groups <- nrow(summed)
  (bread %*% crossprod(summed) %*% bread * groups / (groups - 1))[1:3, 1:3]
}
parts <- list(
  items = covariance(ties$item), raters = covariance(ties$rater),
  cells = covariance(paste(ties$item, ties$rater)), single = covariance(seq_len(nrow(ties)))
)
two <- errors(c(list(two_way = parts$items + parts$raters - parts$cells), parts))

found <- data.frame(
  kind = rep(c("plain", "ties"), each = 5), model = rep(c(models, "alpha - beta"), 2),
  strength = c(at %*% coef(fit), at %*% theta[1:3]),
  tie_parameter = rep(c(0, exp(theta[4])), each = 5),
  rbind(one, two)
)
numbers <- sapply(found, is.numeric)
found[numbers] <- lapply(found[numbers], sprintf, fmt = "%.12g")
write.csv(found, "bradley_terry.csv", row.names = FALSE, quote = FALSE)
