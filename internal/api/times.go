package api

import (
	"errors"
	"strings"
	"time"
)

// zoneless are formats of times without a zone.
var zoneless = [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// noTime returns what is wrong with a text that is no time, and what would be right.
func noTime(text string) string {
	const such = "2026-11-20T15:04:05.123Z"
	for _, layout := range zoneless {
		if _, err := time.Parse(layout, text); err == nil {
			return "has no time zone: want Z at its end for UTC, or an offset such as +08:00: " + such
		}
	}
	_, err := time.Parse(time.RFC3339, text)
	if why, is := errors.AsType[*time.ParseError](err); is && strings.HasSuffix(why.Message, "out of range") {
		return "is no time that there is" + why.Message + "; want one such as " + such
	}
	return "want a time such as " + such
}
