# Reference values for the tests of Bradley-Terry and Davidson strengths.
# Run in this folder: Rscript bradley_terry.R
# (writes bradley_terry_data.csv and bradley_terry.csv; needs sandwich and BradleyTerry2)
#
# Without ties: glm on the differences of indicators, sandwich::vcovCL by task, and BradleyTerry2's
# own fit beside it. With ties: Davidson's model as a loglinear one (Fienberg & Larntz 1976), whose
# estimates glm gives; its clustered errors by numerical derivatives of the likelihood.

suppressMessages({library(sandwich); library(BradleyTerry2)})
set.seed(20)
models <- c("alpha", "beta", "gamma", "delta")
strength <- c(0.6, 0.1, -0.2, -0.5)

draw <- function(kind, nu, tasks) {
  rows <- NULL
  for (task in seq_len(tasks)) {
    pair <- sort(sample(4, 2))
    shift <- rnorm(1, 0, 0.7) # a task's own: ratings of one task are alike
    for (rater in seq_len(sample(1:4, 1))) {
      weight <- c(exp(strength[pair[1]] + shift), exp(strength[pair[2]]))
      weight <- c(weight, nu * sqrt(prod(weight)))
      said <- sample(c("1", "2", "0"), 1, prob = weight)
      rows <- rbind(rows, data.frame(kind, task, rater, first = pair[1], second = pair[2], said))
    }
  }
  rows
}
data <- rbind(draw("plain", 0, 120), draw("ties", 1.5, 150))
shown <- transform(data, first = models[first], second = models[second])
write.csv(shown, "bradley_terry_data.csv", row.names = FALSE, quote = FALSE)

to_sum_zero <- function(beta, covariance) { # beta: of models 2 to 4, the first being 0
  at <- rbind(0, diag(3)) - 1 / 4
  list(beta = drop(at %*% beta), se = sqrt(diag(at %*% covariance %*% t(at))))
}

# ---- Without ties
plain <- data[data$kind == "plain", ]
x <- outer(plain$first, 2:4, "==") - outer(plain$second, 2:4, "==")
fit <- glm(as.numeric(plain$said == "1") ~ 0 + x, family = binomial, control = list(epsilon = 1e-14))
one <- to_sum_zero(coef(fit), vcovCL(fit, cluster = plain$task, type = "HC0", cadjust = TRUE))
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
at <- function(k, by) loglik(replace(theta, k, theta[k] + by))
scores <- sapply(1:4, function(k) (at(k, h) - at(k, -h)) / (2 * h))
stopifnot(max(abs(colSums(scores))) < 1e-4)
information <- -optimHess(theta, function(t) sum(loglik(t)), control = list(ndeps = rep(1e-4, 4)))
summed <- rowsum(scores, ties$task)
groups <- nrow(summed)
bread <- solve(information)
covariance <- bread %*% crossprod(summed) %*% bread * groups / (groups - 1)
two <- to_sum_zero(theta[1:3], covariance[1:3, 1:3])

write.csv(
  data.frame(
    kind = rep(c("plain", "ties"), each = 4), model = rep(models, 2),
    strength = sprintf("%.12g", c(one$beta, two$beta)), std_error = sprintf("%.12g", c(one$se, two$se)),
    tie_parameter = sprintf("%.12g", rep(c(0, exp(theta[4])), each = 4))
  ),
  "bradley_terry.csv", row.names = FALSE, quote = FALSE
)
