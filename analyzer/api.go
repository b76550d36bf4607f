package analyzer

import "github.com/compat-app/compat/analyzer/facts"

// Input is a file to check. Its content must stay readable until Check returns.
type Input = facts.Input

// Unread is a file that could not be read, or, in Report.Skipped, one that compat does not check.
type Unread = facts.Unread

// Object is one ELF file of an artifact.
type Object = facts.Object

// Host is the kind of program that loads an object.
type Host = facts.Host

// Hosts of objects; see package facts.
const (
	HostNone    = facts.HostNone
	HostPython  = facts.HostPython
	HostNode    = facts.HostNode
	HostJava    = facts.HostJava
	HostUnknown = facts.HostUnknown
)

// Kinds of artifacts; see package facts.
const (
	KindWheel   = facts.KindWheel
	KindArchive = facts.KindArchive
	KindObject  = facts.KindObject
)

// NumPy1 is the build of a module that works with NumPy 1 only.
const NumPy1 = facts.NumPy1
