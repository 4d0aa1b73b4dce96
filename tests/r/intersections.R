# Reference values for shrunken estimates of intersections, by metafor.
# Run in this folder: Rscript intersections.R  (writes intersections.csv; needs the package metafor)
#
# Independent estimates: rma with Paule and Mandel's variance, its Q-profile limits, and blup.
# Correlated estimates (case 4): the equations solved numerically, without the package's code.

suppressMessages(library(metafor))
write_exactly <- function(frame, file) {
  text <- lapply(frame, function(x) {
    if (is.character(x)) x else ifelse(is.na(x), "NA", sprintf("%.17g", x))
  })
  write.csv(as.data.frame(text), file, row.names = FALSE, quote = FALSE)
}
cells <- expand.grid(race = c("a", "b", "c"), sex = c("f", "m"), income = c("low", "high"))
set.seed(5)
cases <- list(
  list(groups = cells, y = 0.7 + 0.05 * (cells$race == "a") + 0.04 * (cells$sex == "m") +
         rnorm(12, 0, 0.05), v = runif(12, 0.0002, 0.002)),
  list(groups = cells[cells$income == "low", 1:2], y = c(0.8, 0.7, 0.75, 0.7, 0.78, 0.55),
       v = c(4, 4, 9, 4, 16, 4) / 1e4),
  list(groups = cells, y = 0.1 + 0.02 * (cells$sex == "m") + rnorm(12, 0, 0.01), v = rep(0.002, 12))
)
control <- list(tol = 1e-12, maxiter = 10000, tau2.max = 10)
frame <- do.call(rbind, lapply(seq_along(cases), function(number) {
  one <- cases[[number]]
  formula <- as.formula(paste("~", paste(names(one$groups), collapse = " + ")))
  fit <- rma(one$y, one$v, mods = formula, data = one$groups, method = "PM", control = control)
  null <- rma(one$y, one$v, method = "PM", control = control)
  limits <- confint(fit, control = control)$random["tau", 2:3]
  shrunk <- blup(fit)
  data.frame(
    case = number, race = one$groups$race, sex = one$groups$sex,
    income = if (is.null(one$groups$income)) "" else as.character(one$groups$income),
    y = one$y, v = one$v, estimate = shrunk$pred, low = shrunk$pi.lb, high = shrunk$pi.ub,
    additive = fitted(fit), sd = sqrt(fit$tau2), sd_low = limits[1], sd_high = limits[2],
    share = if (null$tau2 > 0) 1 - fit$tau2 / null$tau2 else NA
  )
}))

one <- cases[[1]]
x <- model.matrix(~ race + sex + income, one$groups)
v <- sqrt(one$v %o% one$v) * (0.6 + 0.4 * diag(12))
gls <- function(tau2) {
  w <- solve(v + tau2 * diag(12))
  beta <- solve(t(x) %*% w %*% x, t(x) %*% w %*% one$y)
  r <- one$y - x %*% beta
  list(fit = x %*% beta, r = r, w = w, q = drop(t(r) %*% w %*% r))
}
at <- function(target) {
  uniroot(function(t) gls(t)$q - target, c(0, 1), tol = 1e-16, maxiter = 10000)$root
}
tau2 <- at(12 - ncol(x))
fit <- gls(tau2)
# Limits by the conditional law of theta given y with a flat prior of the effects: a large variance.
prior <- x %*% t(x) * 1e4 + tau2 * diag(12)
posterior <- prior - prior %*% solve(prior + v, prior)
estimate <- drop(fit$fit + tau2 * fit$w %*% fit$r)
half <- qnorm(0.975) * sqrt(diag(posterior))
correlated <- data.frame(
  case = 4, race = one$groups$race, sex = one$groups$sex, income = one$groups$income, y = one$y,
  v = one$v, estimate = estimate, low = estimate - half, high = estimate + half,
  additive = drop(fit$fit), sd = sqrt(tau2), sd_low = if (gls(0)$q > qchisq(0.975, 7))
    sqrt(at(qchisq(0.975, 7))) else 0, sd_high = sqrt(at(qchisq(0.025, 7))), share = NA
)
stopifnot(ncol(x) == 5)
write_exactly(rbind(frame, correlated), "intersections.csv")
