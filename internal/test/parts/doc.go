// Package parts compares what is read of wheels in parts with what is read of whole ones. It is a
// test of its own, with the build tag parts, because it needs wheels: make parts WHEELS=FOLDER.
package parts
