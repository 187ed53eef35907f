// Package importer takes over what other systems have not finished: rows of their
// tables, or lines of a file, become tasks whose schedules go on where they stood.
// It reads the other system and changes nothing there.
//
// Every row has a key of its own, made of where it comes from, so that it is one
// task however often it is taken over.
package importer
