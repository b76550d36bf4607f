package comment

// GitHub's limits. REST reference, "Checks": parameters of "Create a check run" and "Update a
// check run"; the sizes are in GitHub's OpenAPI description (checks/create).
const (
	// MaxTitle is the limit of output.title and of an annotation's title in characters.
	MaxTitle  = 255
	maxOutput = 65535    // bytes of output.summary and of output.text, each
	maxRaw    = 64 << 10 // bytes of an annotation's message and of its raw_details
)

const (
	// maxBody is the limit of a comment. GitHub's limit is 65,536 characters (the size of its
	// database column, and the number in its error "body is too long (maximum is 65536
	// characters)"); this package counts bytes, which are never fewer.
	maxBody = 65536

	// maxAnnotations is chosen: four requests, one second apart (REST best practices: "make
	// requests for mutating content at least one second apart"; at most 80 a minute create
	// content). The text and the report contain everything.
	maxAnnotations = 200

	// maxReview is chosen: more suggestions on one push are noise, and people apply them one by
	// one.
	maxReview = 20
)

// maxShown limits a name in a list, in characters.
const maxShown = 300

// maxLine limits the length in bytes of a line to edit; longer ones are generated or hostile.
const maxLine = 1000
