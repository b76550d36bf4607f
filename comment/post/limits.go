package post

// checkName is the name of every check run. Branch protection identifies a required check by it.
const checkName = "compat"

// GitHub's limits. REST reference, "Checks": parameters of "Create a check run" and "Update a
// check run".
const (
	annotationsPerCall = 50 // more are rejected; an update appends
	maxActions         = 3  // buttons on a check run
	maxActionLabel     = 20 // characters; also for the identifier
	maxActionText      = 40 // characters of an action's description
)
