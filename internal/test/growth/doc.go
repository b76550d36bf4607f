// Package growth measures how the cost of an analysis grows with each size that the author of an
// artifact, a lock file, a log or a pull request chooses. It measures CPU time, so it runs only with
// make growth.
package growth
