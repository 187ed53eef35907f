// Package cell writes texts as cells of a CSV file for spreadsheets.
package cell

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoFormula returns the text as a cell that no spreadsheet takes for a formula, not even after
// leading blanks or in full-width characters.
func NoFormula(text string) string {
	first := strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") {
		return "'" + text
	}
	if r, _ := utf8.DecodeRuneInString(first); strings.ContainsRune("=+-@＝＋－＠", r) && first != "" {
		return "'" + text
	}
	return text
}

// altered matches numbers that a spreadsheet does not keep as they are: it shows 12 digits or more
// with an exponent and keeps 15 of them, drops zeros at the beginning, and takes 12E5 for 1200000.
var altered = regexp.MustCompile(`^(?:[0-9]{12,}|0[0-9]+)(?:\.[0-9]+)?$|^[0-9]+(?:\.[0-9]+)?[Ee][0-9]+$`)

// AllDigits returns the text as a cell in which a spreadsheet keeps all digits: after a number that
// it would alter comes a tab, as in Alipay's bills. Programs trim it.
func AllDigits(text string) string {
	if altered.MatchString(text) {
		return text + "\t"
	}
	return text
}
