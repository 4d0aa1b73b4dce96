# Reference values for the tests of the regression on raters: glm and sandwich.
# Run in this folder: Rscript rater_models.R
# (writes rater_models_data.csv and rater_models.csv; needs sandwich)

suppressMessages(library(sandwich))
set.seed(8)
raters <- data.frame(
  rater = sprintf("r%02d", 1:30),
  gender = sample(c("woman", "man", "other"), 30, TRUE, c(0.5, 0.4, 0.1)),
  age = sample(c("18-34", "35-54", "55+"), 30, TRUE),
  years = round(runif(30, 0, 30), 1)
)
lean <- rnorm(30, 0, 0.6)
rows <- do.call(rbind, lapply(1:30, function(i) {
  n <- sample(8:40, 1)
  dataset <- sample(c("easy", "hard"), n, TRUE)
  eta <- -1 + lean[i] + 0.7 * (raters$gender[i] == "woman") - 0.4 * (raters$age[i] == "55+") +
    0.02 * raters$years[i] + 0.8 * (dataset == "hard")
  data.frame(raters[rep(i, n), ], dataset, row.names = NULL, task = paste0(raters$rater[i], "-", seq_len(n)),
             reported = as.numeric(runif(n) < plogis(eta)))
}))
write.csv(rows, "rater_models_data.csv", row.names = FALSE, quote = FALSE)

rows$gender <- relevel(factor(rows$gender), "man")
rows$age <- relevel(factor(rows$age), "55+")
rows$dataset <- relevel(factor(rows$dataset), "easy")
fit <- glm(reported ~ gender + age + years + dataset, family = binomial, data = rows,
           control = list(epsilon = 1e-14))
v <- vcovCL(fit, cluster = rows$rater, type = "HC0", cadjust = TRUE)
df <- length(unique(rows$rater)) - 1
estimate <- coef(fit)
se <- sqrt(diag(v))
write.csv(
  data.frame(
    term = names(estimate), estimate = sprintf("%.12g", estimate), std_error = sprintf("%.12g", se),
    low = sprintf("%.12g", exp(estimate - qt(0.975, df) * se)),
    high = sprintf("%.12g", exp(estimate + qt(0.975, df) * se)),
    p = sprintf("%.12g", 2 * pt(-abs(estimate / se), df))
  ),
  "rater_models.csv", row.names = FALSE, quote = FALSE
)
