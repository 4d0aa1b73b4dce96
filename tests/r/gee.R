# Reference values for logistic regression with repeated answers per item, by geepack (1.3.9).
# Run in this folder: Rscript gee.R
# (writes gee_data.csv, gee.csv, gee_variants_data.csv, gee_variants.csv)
#
# Written without sight of the package's code: geeglm solves the estimating equations and gives
# the robust standard errors (Liang and Zeger's sandwich, without small-sample correction). Under
# working independence the estimates are checked against glm's and the standard errors against a
# sandwich from glm's scores, summed by item.
#
# The errors for few clusters are from glm's fit, by their formula.
#
# Under the exchangeable structure the estimates depend on how the correlation is estimated: geepack
# solves a second estimating equation, others take moments and subtract the number of parameters.

library(geepack)

# 17 significant digits name a double exactly; write.csv alone gives 15.
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}

# Kauermann and Carroll (2001): each cluster's Pearson residuals, multiplied by (I - H)^(-1/2).
small_sample_error <- function(fit, cluster) {
  w <- sqrt(fit$weights)
  x <- w * model.matrix(fit)
  bread <- solve(crossprod(x))
  scores <- sapply(split(seq_along(w), cluster), function(rows) {
    own <- x[rows, , drop = FALSE]
    e <- eigen(diag(length(rows)) - own %*% bread %*% t(own), symmetric = TRUE)
    root <- e$vectors %*% diag(e$values^-0.5, length(rows)) %*% t(e$vectors)
    t(own) %*% root %*% residuals(fit, "pearson")[rows]
  })
  sqrt(diag(bread %*% tcrossprod(scores) %*% bread))
}

set.seed(31)
items <- 60
easiness <- rnorm(items)
data <- data.frame(item = rep(1:items, each = 2), group = rep(0:1, items))
data$covariate <- round(rnorm(2 * items), 2)
chance <- plogis(0.4 + easiness[data$item] - 0.7 * data$group + 0.5 * data$covariate)
data$correct <- as.integer(runif(2 * items) < chance)
write.csv(data, "gee_data.csv", row.names = FALSE, quote = FALSE)
data <- read.csv("gee_data.csv")

results <- do.call(rbind, lapply(c("independence", "exchangeable"), function(structure) {
  fit <- geeglm(correct ~ group + covariate, id = item, family = binomial, corstr = structure,
                data = data, control = geese.control(epsilon = 1e-13, maxit = 200))
  table <- summary(fit)$coefficients
  stopifnot(fit$geese$error == 0)
  data.frame(
    corstr = structure, term = c("intercept", "group", "covariate"),
    estimate = table$Estimate, std_error = table$Std.err,
    correlation = if (structure == "independence") NA else unname(fit$geese$alpha),
    scale = unname(fit$geese$gamma)
  )
}))

plain <- glm(correct ~ group + covariate, binomial, data, control = glm.control(epsilon = 1e-14))
scores <- rowsum(model.matrix(plain) * (data$correct - fitted(plain)), data$item)
bread <- summary(plain)$cov.unscaled
stopifnot(
  max(abs(coef(plain) - results$estimate[1:3])) < 1e-10,
  max(abs(sqrt(diag(bread %*% crossprod(scores) %*% bread)) - results$std_error[1:3])) < 1e-9
)

# The exchangeable estimates solve their equation at geepack's correlation, which with two answers per
# item is the mean product of an item's Pearson residuals over the mean square of all of them.
x <- cbind(1, data$group, data$covariate)
last <- results[results$corstr == "exchangeable", ]
p <- plogis(drop(x %*% last$estimate))
residual <- matrix((data$correct - p) / sqrt(p * (1 - p)), 2)
stopifnot(
  abs(mean(residual^2) - last$scale[1]) < 1e-8,
  abs(mean(residual[1, ] * residual[2, ]) / mean(residual^2) - last$correlation[1]) < 1e-8
)
working <- solve(matrix(c(1, last$correlation[1], last$correlation[1], 1), 2))
weighted <- x * sqrt(p * (1 - p))
parts <- lapply(1:items, function(item) {
  rows <- 2 * item - 1:0
  t(weighted[rows, ]) %*% working %*% cbind(weighted[rows, ], residual[, item])
})
bread <- solve(Reduce(`+`, lapply(parts, function(part) part[, 1:3])))
scores <- sapply(parts, function(part) part[, 4])
stopifnot(
  max(abs(rowSums(scores))) < 1e-8,
  max(abs(sqrt(diag(bread %*% tcrossprod(scores) %*% bread)) - last$std_error)) < 1e-8
)
results$small_sample_error <- c(small_sample_error(plain, data$item), NA, NA, NA)
write_exactly(results, "gee.csv")

# Covariates that differ between the two answers of an item, as what a variant's text leaks does:
# the regression, and the difference of the groups' chances averaged over all answers with their own
# covariates (g-computation). Its standard error is for fixed covariates (delta method on geepack's
# robust covariance).
set.seed(37)
items <- 90
easiness <- rnorm(items)
variants <- data.frame(item = rep(1:items, each = 2), group = rep(0:1, items))
variants$key <- round(runif(2 * items) * (0.3 + 0.5 * variants$group), 2)
variants$distractor <- round(runif(2 * items) * (0.8 - 0.5 * variants$group), 2)
chance <- plogis(0.3 + easiness[variants$item] + 0.5 * variants$group + variants$key -
                   variants$distractor)
variants$correct <- as.integer(runif(2 * items) < chance)
write.csv(variants, "gee_variants_data.csv", row.names = FALSE, quote = FALSE)
variants <- read.csv("gee_variants_data.csv")

fit <- geeglm(correct ~ group + key + distractor, id = item, family = binomial, data = variants,
              control = geese.control(epsilon = 1e-13, maxit = 200))
stopifnot(fit$geese$error == 0)
beta <- coef(fit)
robust <- fit$geese$vbeta
x <- model.matrix(fit)
set_group <- function(value) { y <- x; y[, "group"] <- value; y }
p1 <- plogis(drop(set_group(1) %*% beta))
p0 <- plogis(drop(set_group(0) %*% beta))
adjusted <- mean(p1 - p0)
gradient <- colMeans(set_group(1) * p1 * (1 - p1)) - colMeans(set_group(0) * p0 * (1 - p0))
fixed <- sqrt(drop(t(gradient) %*% robust %*% gradient))

write_exactly(data.frame(
  quantity = c("intercept", "group", "key", "distractor", "adjusted (covariates fixed)"),
  estimate = c(beta, adjusted),
  std_error = c(sqrt(diag(robust)), fixed),
  small_sample_error = c(small_sample_error(glm(
    correct ~ group + key + distractor, binomial, variants, control = glm.control(epsilon = 1e-14)
  ), variants$item), NA)
), "gee_variants.csv")
