package comment

// What GitHub accepts. REST reference, "Checks": parameters of "Create a check run" and "Update a
// check run"; the sizes are in GitHub's OpenAPI description (checks/create).
const (
	checkName          = "compat" // the one name, for pull requests, merge groups and releases; a required check is found by it
	maxTitle           = 255      // characters of output.title and of an annotation's title
	maxOutput          = 65535    // bytes of output.summary and of output.text, each
	annotationsPerCall = 50       // more are refused; an update appends
	maxRaw             = 64 << 10 // bytes of an annotation's message and of its raw_details
	maxActions         = 3        // buttons on a check run
	maxActionLabel     = 20       // characters, identifier too
	maxActionText      = 40       // characters of an action's description
)

const (
	// maxBody is what GitHub takes as a comment, in characters: 65,536 is its own database column,
	// and the number in its error "body is too long (maximum is 65536 characters)". Ours counts
	// bytes, which are never fewer.
	maxBody = 65536

	// maxAnnotations is ours: four requests, a second apart (REST best practices: "make requests
	// for mutating content at least one second apart"; at most 80 a minute create content).
	// Everything is in the text and the report all the same.
	maxAnnotations = 200

	// maxReview is ours: more suggestions than this on one push are noise, and a reader applies
	// them one by one.
	maxReview = 20
)
