// Package wholenumber rewrites the integers of a JSON text that are written with a fraction or an exponent, as models
// write them: 5.0 and 1e2 are integers for JSON schema, and none for encoding/json.
package wholenumber

import (
	"strconv"
	"strings"
)

// maxDigits is the number of digits that an integer may have: what has more is none of 64 bits.
const maxDigits = 19

// Rewrite returns the text with 5 for 5.0 and 100 for 1e2, and reports whether there was such a number. The value of the
// text stays as it is. It is called for texts that could not be decoded.
func Rewrite(text string) (string, bool) {
	var out strings.Builder
	copied, quoted := 0, false
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '\\':
			i += 2
			continue
		case b == '"':
			quoted = !quoted
		case !quoted && (b == '-' || '0' <= b && b <= '9'):
			end := i + numberLength(text[i:])
			if plain, ok := integer(text[i:end]); ok {
				out.WriteString(text[copied:i])
				out.WriteString(plain)
				copied = end
			}
			i = end
			continue
		}
		i++
	}
	if copied == 0 {
		return text, false
	}
	out.WriteString(text[copied:])
	return out.String(), true
}

// numberLength returns how many bytes at the start of text may belong to a number.
func numberLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.eE0123456789", r) })
	if n < 0 {
		return len(text)
	}
	return n
}

// integer returns the digits of a number that is an integer and not written as one.
func integer(number string) (plain string, ok bool) {
	mantissa, exponent, scaled := cutAny(number, "eE")
	whole, fraction, broken := strings.Cut(mantissa, ".")
	if !scaled && !broken {
		return "", false
	}
	shift := 0
	if scaled {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > maxDigits || n < -maxDigits {
			return "", false
		}
		shift = n
	}
	sign := ""
	if whole, ok = strings.CutPrefix(whole, "-"); ok {
		sign = "-"
	}
	digits := whole + fraction
	point := len(whole) + shift
	switch {
	case whole == "" || broken && fraction == "" || strings.Trim(digits, "0123456789") != "":
		return "", false
	case point >= len(digits):
		digits += strings.Repeat("0", point-len(digits))
	case strings.Trim(digits[max(point, 0):], "0") != "":
		return "", false
	default:
		digits = digits[:max(point, 0)]
	}
	digits = strings.TrimLeft(digits, "0")
	switch {
	case digits == "":
		return "0", true
	case len(digits) > maxDigits:
		return "", false
	}
	return sign + digits, true
}

// cutAny is strings.Cut at the first of some bytes.
func cutAny(text, bytes string) (before, after string, found bool) {
	if i := strings.IndexAny(text, bytes); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}
