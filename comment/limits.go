package comment

// What GitHub accepts. REST reference, "Checks": parameters of "Create a check run" and "Update a
// check run"; the sizes are in GitHub's OpenAPI description (checks/create).
const (
	// MaxTitle is the number of characters of output.title and of an annotation's title.
	MaxTitle  = 255
	maxOutput = 65535    // bytes of output.summary and of output.text, each
	maxRaw    = 64 << 10 // bytes of an annotation's message and of its raw_details
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

// maxShown bounds one name in a list, in characters.
const maxShown = 300
