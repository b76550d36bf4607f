package post

// checkName is the name of every check run, for pull requests, merge groups and releases. Branch
// protection finds a required check by it.
const checkName = "compat"

// What GitHub accepts. REST reference, "Checks": parameters of "Create a check run" and "Update a
// check run".
const (
	annotationsPerCall = 50 // more are refused; an update appends
	maxActions         = 3  // buttons on a check run
	maxActionLabel     = 20 // characters, identifier too
	maxActionText      = 40 // characters of an action's description
)
