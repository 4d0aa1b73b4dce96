# Reference values for the tests of variance components of items crossed with raters.
# Run in this folder: Rscript variance_components.R
# (writes variance_components_data.csv and variance_components.csv)
#
# A full table by the mean squares of aov. An incomplete one by Henderson's Method I with the
# expected sums of squares as traces of the design's matrices, tr(Q V), written out.

set.seed(4)
items <- 14
raters <- 5
full <- expand.grid(item = 1:items, rater = 1:raters)
eta <- rnorm(items, 0, 1)[full$item] + rnorm(raters, 0, 0.7)[full$rater]
full$y <- as.numeric(runif(nrow(full)) < plogis(eta))
part <- full[sample(nrow(full), 40), ]
part <- rbind(part, part[c(3, 8), ]) # two judged a second time
data <- rbind(cbind(kind = "full", full), cbind(kind = "part", part))
write.csv(data, "variance_components_data.csv", row.names = FALSE, quote = FALSE)

squares <- summary(aov(y ~ factor(item) + factor(rater), data = full))[[1]][["Mean Sq"]]
balanced <- c((squares[1] - squares[3]) / raters, (squares[2] - squares[3]) / items, squares[3])

n <- nrow(part)
zi <- model.matrix(~ 0 + factor(part$item))
zr <- model.matrix(~ 0 + factor(part$rater))
project <- function(z) z %*% solve(crossprod(z)) %*% t(z)
q <- list(diag(n), matrix(1 / n, n, n), project(zi), project(zr))
v <- list(matrix(1, n, n), tcrossprod(zi), tcrossprod(zr), diag(n)) # of mu^2, items, raters, rest
expected <- sapply(v, function(v) sapply(q, function(q) sum(diag(q %*% v))))
observed <- sapply(q, function(q) drop(t(part$y) %*% q %*% part$y))
unbalanced <- solve(expected, observed)[2:4]

write.csv(
  data.frame(
    kind = rep(c("full", "part"), each = 3), component = rep(c("item", "rater", "residual"), 2),
    value = sprintf("%.15g", c(balanced, unbalanced))
  ),
  "variance_components.csv", row.names = FALSE, quote = FALSE
)
