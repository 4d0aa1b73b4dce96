# Reference values for the variation of a gap between items and models.
# Run in this folder: Rscript gap_components.R  (writes gap_components_data.csv and
# gap_components.csv; needs the package lme4)
#
# Complete tables: components by aov, which must agree with lme4's REML if none is negative; the
# standard error of the mean is that of lmer's fixed effect; limits by Satterthwaite's formula from
# the mean squares. The prediction limits on the same items are predict's for a sample of gaps.

library(lme4)
set.seed(21)
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}
drawn <- function(items, models, item_sd, model_sd) {
  full <- expand.grid(item = seq_len(items), model = seq_len(models))
  shift <- rnorm(items, 0.1, item_sd)[full$item] + rnorm(models, 0, model_sd)[full$model]
  up <- pmin(pmax(0.15 + shift / 2, 0), 1)
  down <- pmin(pmax(0.15 - shift / 2, 0), 1 - up)
  u <- runif(nrow(full))
  full$d <- ifelse(u < up, 1, ifelse(u < up + down, -1, 0))
  full
}
tables <- list(drawn(60, 8, 0.3, 0.15), drawn(25, 5, 0.4, 0.3), drawn(150, 12, 0.2, 0.1))
alpha <- 0.05
results <- do.call(rbind, lapply(seq_along(tables), function(number) {
  data <- tables[[number]]
  items <- length(unique(data$item))
  models <- length(unique(data$model))
  squares <- summary(aov(d ~ factor(item) + factor(model), data))[[1]][["Mean Sq"]]
  item <- (squares[1] - squares[3]) / models
  model <- (squares[2] - squares[3]) / items
  stopifnot(item > 0, model > 0)
  fit <- lmer(d ~ 1 + (1 | item) + (1 | model), data,
              control = lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-14)))
  reml <- as.data.frame(VarCorr(fit))
  reml <- setNames(reml$vcov, reml$grp)[c("item", "model", "Residual")]
  stopifnot(all(abs(reml - c(item, model, squares[3])) < 1e-5))
  error <- sqrt(vcov(fit)[1, 1])
  by_mean <- sqrt((squares[1] + squares[2] - squares[3]) / (items * models))
  stopifnot(abs(error - by_mean) < 1e-5)
  df <- c(items - 1, models - 1, (items - 1) * (models - 1))
  limits <- function(weights) {
    variance <- sum(weights * squares)
    own <- variance^2 / sum((weights * squares)^2 / df)
    mean(data$d) + c(-1, 1) * qt(1 - alpha / 2, max(own, min(df))) * sqrt(variance)
  }
  interval <- limits(c(1, 1, -1) / (items * models))
  # Twice the items' component, the model's own variance and the variance of the mean.
  new <- limits(c(2 / models, 1 + 1 / models, -2 / models) / items)
  gaps <- tapply(data$d, data$model, mean)
  same <- predict(lm(gaps ~ 1), data.frame(one = 1), interval = "prediction", level = 1 - alpha)
  new <- c(min(new[1], same[2]), max(new[2], same[3]))
  data.frame(
    case = number, estimate = mean(data$d), item_variance = item, model_variance = model,
    rest_variance = squares[3], ci_low = interval[1], ci_high = interval[2],
    same_items_low = same[2], same_items_high = same[3], new_items_low = new[1],
    new_items_high = new[2], reliability = 1 - squares[3] / squares[2]
  )
}))
write_exactly(results, "gap_components.csv")
data <- do.call(rbind, lapply(seq_along(tables), function(n) cbind(case = n, tables[[n]])))
write.csv(data, "gap_components_data.csv", row.names = FALSE, quote = FALSE)
