package githubtest

import "time"

// User is an account: a person, an organisation or the App's bot.
type User struct {
	ID    int64
	Login string
	Kind  string // "User", "Bot" or "Organization"
}

// Installation is the App on one account. It has the permissions that the App asks for (permissions
// in auth.go).
type Installation struct {
	ID        int64
	Account   *User
	Suspended bool
	Deleted   bool

	limit   *limit
	written []time.Time // comments and reviews of the last minute
}

// Repo is a repository. Installation is nil where the App is not installed, as on a contributor's
// fork.
type Repo struct {
	ID           int64
	Owner        *User
	Name         string
	Private      bool
	Archived     bool   // nobody writes to it
	Default      string // branch
	Installation *Installation
	Parent       *Repo // nil: no fork

	Branches map[string]string // name -> sha
	Tags     map[string]string
	// login -> admin, maintain, write, triage or read; others read what is public
	Roles map[string]string

	Pulls    []*Pull
	Issues   []*Issue // one per pull request too, with the same number
	Checks   []*Check
	Runs     []*Run
	Releases []*Release
	Gates    []*Gate

	suites map[string]int64   // sha -> check suite
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

// Issue holds the conversation of an issue or, with Pull, of a pull request.
type Issue struct {
	ID       int64
	Number   int
	Title    string
	Author   *User
	Pull     bool
	Locked   bool // only people who may write are heard
	Comments []*Comment
}

// Comment is an issue comment, or one in a review thread.
type Comment struct {
	ID        int64
	Author    *User
	Body      string
	Minimized string // classifier, "" for shown
	Edits     int
	Reactions []Reaction
	At        time.Time
}

// Reaction is one emoji under a comment.
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
	Heads   []string // every head so far, the newest last
	At      time.Time
	Updated time.Time // of the last push; zero: none
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

// Thread is a conversation on a line of the diff, the first comment first.
type Thread struct {
	ID       int64
	Path     string
	Line     int // last line; at the side's file
	Start    int // first line, 0 for one line
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
	Verdicts    int   // how many writes gave it a conclusion
	Batches     []int // annotations of each write that had any
	Created     time.Time
	Completed   time.Time
	App         string // slug of another App that made it; "" for ours
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
	Pull       *Pull // nil for a push; pull_requests leaves it out when it comes from a fork
	Artifacts  []*Artifact
	Jobs       []*Job
	HideLists  int // the artifact list is empty for that many more requests
	Lists      int // how often the list was asked for
	At         time.Time
}

// Job is one job of a workflow run, with its log.
type Job struct {
	ID         int64
	Name       string
	Conclusion string
	Steps      []*Step
	Expired    bool // the log is no longer kept
	Blob
}

// Step is one step of a job, in the order of its run.
type Step struct {
	Name               string
	Conclusion         string
	Started, Completed time.Time
}

// Blob is bytes that are handed out by the storage host, and the ways in which they can arrive
// badly.
type Blob struct {
	Data      []byte
	Slow      time.Duration // the answer takes that long, in steps
	Cuts      int           // that many more downloads break half way
	Half      bool          // half of the bytes arrive, with a matching Content-Length
	Stale     int           // that many more links are too old when they are followed
	Downloads int           // how often the bytes were asked for
}

// Artifact is one upload of a workflow run.
type Artifact struct {
	Blob
	ID      int64
	Name    string
	Expired bool
	Digest  string // "": of Data; "-": none, as of old uploads
	At      time.Time
}

// Release is a release of a tag.
type Release struct {
	ID        int64
	Tag       string
	Draft     bool
	Target    string // branch or commit of a draft's tag; "": the default branch
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

// Gate is a deployment that waits for the App's word, with the App's answers.
type Gate struct {
	Run         *Run
	Environment string
	Deployment  int64
	State       string   // "" waits, "approved" or "rejected"
	Comments    []string // of the answers
	Answers     int
	Reports     []string // how it stands, before the answer
}
