# Reference values for the tests of the regression on raters: glm and clubSandwich.
# Run in this folder: Rscript rater_models.R
# (writes rater_models_data.csv and rater_models.csv; needs clubSandwich)
#
# CR2 and Satterthwaite's degrees of freedom of lm on the glm's last weighted least squares. Of the
# glm itself they are the same if the design is constant in a cluster; if it is not,
# clubSandwich uses another square root of the adjustment. Its standard error is glm_std_error.

suppressMessages(library(clubSandwich))
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
one <- function(model, formula) {
  fit <- glm(formula, family = binomial, data = rows, control = list(epsilon = 1e-14))
  root <- sqrt(fit$weights)
  x <- model.matrix(fit) * root
  z <- (fit$linear.predictors + residuals(fit, "working")) * root
  linear <- coef_test(lm(z ~ 0 + x), "CR2", cluster = rows$rater, test = "Satterthwaite")
  own <- coef_test(fit, "CR2", cluster = rows$rater, test = "Satterthwaite")
  half <- qt(0.975, linear$df_Satt) * linear$SE
  found <- data.frame(
    estimate = coef(fit), std_error = linear$SE, df = linear$df_Satt,
    low = exp(coef(fit) - half), high = exp(coef(fit) + half), p = linear$p_Satt,
    glm_std_error = own$SE
  )
  if (model == "raters") stopifnot(all.equal(own$SE, linear$SE), all.equal(own$df_Satt, linear$df_Satt))
  found[] <- lapply(found, sprintf, fmt = "%.12g")
  data.frame(model, term = names(coef(fit)), found)
}
write.csv(
  rbind(
    one("raters", reported ~ gender + age + years),
    one("dataset", reported ~ gender + age + years + dataset)
  ),
  "rater_models.csv", row.names = FALSE, quote = FALSE
)
