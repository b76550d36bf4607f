package githubtest

import "time"

// User is an account: a person, an organization or the App's bot.
type User struct {
	ID    int64
	Login string
	Kind  string // "User", "Bot" or "Organization"
}

// Installation is the App on one account. It has the permissions that the App requests
// (permissions in auth.go).
type Installation struct {
	ID        int64
	Account   *User
	Suspended bool
	Deleted   bool

	limit   *limit
	written []time.Time // comments and reviews of the last minute
}

// Repo is a repository. Installation is nil if the App is not installed, as on a contributor's
// fork.
type Repo struct {
	ID           int64
	Owner        *User
	Name         string
	Private      bool
	Internal     bool   // Private, and visible to all members of the enterprise
	Archived     bool   // read-only
	Default      string // branch
	Installation *Installation
	Parent       *Repo // nil = not a fork

	Branches map[string]string // name -> SHA
	Tags     map[string]string
	// login -> admin, maintain, write, triage or read; others can read public repositories
	Roles map[string]string

	Pulls    []*Pull
	Issues   []*Issue // also one for each pull request, with the same number
	Checks   []*Check
	Runs     []*Run
	Releases []*Release
	Gates    []*Gate

	suites map[string]int64   // SHA -> check suite
	git    map[string]*Commit // shared by a repository and its forks
	number int
}

// FullName is "owner/name".
func (r *Repo) FullName() string { return r.Owner.Login + "/" + r.Name }

// Commit is a commit with its whole tree: path -> content.
type Commit struct {
	SHA     string
	Parents []string
	Files   map[string]string
	Message string
	At      time.Time
}

// Issue is an issue, or the conversation of a pull request if Pull is set.
type Issue struct {
	ID       int64
	Number   int
	Title    string
	Author   *User
	Pull     bool
	Locked   bool // only people with write permission can comment
	Comments []*Comment
}

// Comment is an issue comment, or one in a review thread.
type Comment struct {
	ID        int64
	Author    *User
	Body      string
	Minimized string // classifier; "" = visible
	Edits     int
	Reactions []Reaction
	At        time.Time
}

// Reaction is a reaction to a comment.
type Reaction struct {
	ID      int64
	User    *User
	Content string // "+1", "-1", "confused", "eyes", …
}

// Pull is a pull request.
type Pull struct {
	ID      int64
	Number  int
	Repo    *Repo
	Head    *Repo
	HeadRef string
	HeadSHA string
	BaseRef string
	BaseSHA string
	Title   string
	Author  *User
	State   string // "open" or "closed"
	Merged  bool
	Draft   bool
	Reviews []*Review
	Threads []*Thread
	Heads   []string // all heads, newest last
	At      time.Time
	Updated time.Time // time of the last push; zero = none
}

// Review is a submitted review; its comments are in the pull request's threads.
type Review struct {
	ID     int64
	Author *User
	Body   string
	State  string // "COMMENTED"
	SHA    string
	At     time.Time
}

// Thread is a review conversation, with the first comment first.
type Thread struct {
	ID       int64
	Path     string
	Line     int // last line, in the file of the side
	Start    int // first line; 0 = a single line
	Side     string
	SHA      string
	Review   int64
	Resolved bool
	Comments []*Comment
}

// Check is a check run. GitHub appends annotations on update.
type Check struct {
	ID          int64
	SHA         string
	Name        string
	ExternalID  string
	Status      string // "queued", "in_progress", "completed"
	Conclusion  string
	DetailsURL  string
	Title       string
	Summary     string
	Text        string
	Annotations []Annotation
	Actions     []Action
	Verdicts    int   // number of writes with a conclusion
	Batches     []int // annotations of each write that had any
	Created     time.Time
	Completed   time.Time
	App         string // slug of another App that created it; "" = this App
}

// Annotation is one line of a check's report.
type Annotation struct {
	Path       string
	Start, End int
	Level      string // "notice", "warning" or "failure"
	Title      string
	Message    string
	Details    string
}

// Action is a button of a check run.
type Action struct{ Label, Description, Identifier string }

// Run is a workflow run.
type Run struct {
	ID         int64
	Number     int
	Attempt    int
	Repo       *Repo
	Head       *Repo
	SHA        string
	Branch     string
	Name       string
	Path       string
	Event      string
	Status     string
	Conclusion string
	Pull       *Pull // nil for a push; pull_requests does not list it if it is from a fork
	Artifacts  []*Artifact
	Jobs       []*Job
	HideLists  int // the artifact list is empty for this many more requests
	Lists      int // number of requests for the list
	At         time.Time
}

// Job is a job of a workflow run, with its log.
type Job struct {
	ID         int64
	Name       string
	Status     string // "" = completed
	Conclusion string
	Steps      []*Step
	Expired    bool // the log has expired
	Blob
}

// Step is a step of a job.
type Step struct {
	Name               string
	Conclusion         string
	Started, Completed time.Time
}

// Blob is content on the storage host, with the failures of its downloads.
type Blob struct {
	Data      []byte
	Slow      time.Duration // duration of the response
	Cuts      int           // this many more downloads are cut off in the middle
	Half      bool          // half of the content is sent, with a matching Content-Length
	Stale     int           // this many more links have expired when they are followed
	Downloads int           // number of requests for the content
}

// Artifact is an artifact of a workflow run.
type Artifact struct {
	Blob
	ID      int64
	Name    string
	Expired bool
	Digest  string // "" = that of Data; "-" = none, as for old uploads
	Size    int    // that GitHub reports, in bytes; 0 = that of Data
	At      time.Time
}

// Release is a release of a tag.
type Release struct {
	ID        int64
	Tag       string
	Draft     bool
	Target    string // branch or commit of a draft's tag; "" = the default branch
	Immutable bool
	Assets    []*Asset
	At        time.Time
}

// Asset is one file of a release.
type Asset struct {
	Blob
	ID    int64
	Name  string
	State string // "uploaded", or "open" while it is being uploaded
	At    time.Time
}

// Gate is a deployment that waits for the App, with the App's responses.
type Gate struct {
	Run         *Run
	Environment string
	Deployment  int64
	State       string   // "" = waiting, "approved" or "rejected"
	Comments    []string // of the responses
	Answers     int
	Reports     []string // status comments before the response
}
