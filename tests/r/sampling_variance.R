# Reference values for the variance of accuracy over items, groups and repeated samples.
# Run in this folder: Rscript sampling_variance.R
# (writes sampling_variance_data.csv and sampling_variance.csv)
#
# Components of y = item + group + item x group + sample from the mean squares of aov, with random
# items and fixed groups. They give the variance of the mean of both groups and of the difference.

set.seed(9)
items <- 40
samples <- 5
full <- expand.grid(sample = seq_len(samples), group = c("white", "black"), item = seq_len(items))
easy <- rnorm(items, 1, 1.5)[full$item]
gap <- ifelse(full$group == "white", 0.4, -0.4) +
  rnorm(2 * items, 0, 0.8)[2 * full$item - (full$group == "white")]
full$right <- as.integer(runif(nrow(full)) < plogis(easy + gap))
write.csv(full, "sampling_variance_data.csv", row.names = FALSE, quote = FALSE)

squares <- summary(aov(right ~ factor(item) * group, full))[[1]][["Mean Sq"]]
names(squares) <- c("item", "group", "both", "sample")
item <- (squares["item"] - squares["both"]) / (2 * samples)
both <- (squares["both"] - squares["sample"]) / samples
noise <- squares["sample"]
means <- tapply(full$right, list(full$item, full$group), mean)
gaps <- means[, "white"] - means[, "black"]
frame <- data.frame(
  metric = c("accuracy", "accuracy_difference"),
  estimate = c(mean(means), mean(gaps)),
  std_error = c(sd(rowMeans(means)), sd(gaps)) / sqrt(items),
  variance_items = c(item, 0) / items,
  variance_groups = c(both / 2, 2 * both) / items,
  variance_samples = c(noise / (2 * samples), 2 * noise / samples) / items
)
sums <- rowSums(frame[, c("variance_items", "variance_groups", "variance_samples")])
stopifnot(all(abs(sums - frame$std_error^2) < 1e-12))
frame[-1] <- lapply(frame[-1], function(x) sprintf("%.17g", x))
write.csv(frame, "sampling_variance.csv", row.names = FALSE, quote = FALSE)
