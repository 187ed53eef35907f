// Package nearest writes messages about names: what a misspelt name probably means, and which names
// there are.
package nearest

import (
	"slices"
	"strings"
)

// Of returns the first of the names with the smallest distance to a name, if that distance is at
// most most. The distance is the number of bytes to insert, delete or replace. Empty: no name is
// that near.
func Of(name string, most int, names ...string) (near string) {
	best := most + 1
	for _, n := range names {
		if max(len(n)-len(name), len(name)-len(n)) >= best {
			continue
		}
		if d := distance(name, n); d < best {
			near, best = n, d
		}
	}
	return near
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// Some returns "a, b, c": at most ten names, and an ellipsis if there are more.
func Some(names []string) string {
	if len(names) > 10 {
		names = append(slices.Clone(names[:10]), "…")
	}
	return strings.Join(names, ", ")
}

// Either returns "a, b or c".
func Either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
