package mask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell returns the text as a cell that no spreadsheet takes for a formula, not even after leading
// blanks or in full-width characters.
func Cell(text string) string {
	first := strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") {
		return "'" + text
	}
	if r, _ := utf8.DecodeRuneInString(first); strings.ContainsRune("=+-@＝＋－＠", r) && first != "" {
		return "'" + text
	}
	return text
}
