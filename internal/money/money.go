// Package money reads and writes amounts of money: whole numbers of a currency's smallest unit,
// with an ISO 4217 code. An amount that cannot be written so is an error to its caller, never
// rounded.
package money

import (
	"fmt"
	"strconv"
	"strings"
)

// codes are the currencies of ISO 4217 (list one, February 2026), by the number of their decimals.
// Each is its code of letters and its code of digits. Metals and units without decimals (XAU, XDR,
// …) are left out: nobody pays with them.
//
// The table is the standard's own. golang.org/x/text/currency has the decimals of CLDR instead,
// which are those that people print: 0 for 22 currencies, IDR and IQD among them, for which the
// standard and payment providers have 2 or 3. It also lacks newer currencies, such as XCG and ZWG.
var codes = [...]string{
	0: "BIF108 CLP152 DJF262 GNF324 ISK352 JPY392 KMF174 KRW410 PYG600 RWF646 UGX800 UYI940 VND704 VUV548 XAF950 XOF952 XPF953",
	2: "AED784 AFN971 ALL008 AMD051 AOA973 ARS032 AUD036 AWG533 AZN944 BAM977 BBD052 BDT050 BMD060 BND096 BOB068 BOV984 BRL986 " +
		"BSD044 BTN064 BWP072 BYN933 BZD084 CAD124 CDF976 CHE947 CHF756 CHW948 CNY156 COP170 COU970 CRC188 CUP192 CVE132 CZK203 " +
		"DKK208 DOP214 DZD012 EGP818 ERN232 ETB230 EUR978 FJD242 FKP238 GBP826 GEL981 GHS936 GIP292 GMD270 GTQ320 GYD328 HKD344 " +
		"HNL340 HTG332 HUF348 IDR360 ILS376 INR356 IRR364 JMD388 KES404 KGS417 KHR116 KPW408 KYD136 KZT398 LAK418 LBP422 LKR144 " +
		"LRD430 LSL426 MAD504 MDL498 MGA969 MKD807 MMK104 MNT496 MOP446 MRU929 MUR480 MVR462 MWK454 MXN484 MXV979 MYR458 MZN943 " +
		"NAD516 NGN566 NIO558 NOK578 NPR524 NZD554 PAB590 PEN604 PGK598 PHP608 PKR586 PLN985 QAR634 RON946 RSD941 RUB643 SAR682 " +
		"SBD090 SCR690 SDG938 SEK752 SGD702 SHP654 SLE925 SOS706 SRD968 SSP728 STN930 SVC222 SYP760 SZL748 THB764 TJS972 TMT934 " +
		"TOP776 TRY949 TTD780 TWD901 TZS834 UAH980 USD840 USN997 UYU858 UZS860 VED926 VES928 WST882 XAD396 XCD951 XCG532 YER886 " +
		"ZAR710 ZMW967 ZWG924",
	3: "BHD048 IQD368 JOD400 KWD414 LYD434 OMR512 TND788",
	4: "CLF990 UYW927",
}

type currency struct {
	code     string
	decimals int
}

// currencies are the same by either code.
var currencies = func() map[string]currency {
	m := make(map[string]currency, 2*170)
	for decimals, list := range codes {
		for both := range strings.FieldsSeq(list) {
			c := currency{both[:3], decimals}
			m[c.code], m[both[3:]] = c, c
		}
	}
	return m
}()

// Code returns the ISO 4217 code of letters, in capitals, for one of letters in any case or one of
// three digits ("156"). Empty: there is no such currency.
func Code(text string) string { return currencies[strings.ToUpper(text)].code }

// Decimals returns how many decimals a currency has: CNY 2, JPY 0, KWD 3. known is false if Code
// does not return code.
func Decimals(code string) (n int, known bool) {
	if c := currencies[code]; code != "" && c.code == code {
		return c.decimals, true
	}
	return 0, false
}

// Parse reads an amount in whole units, such as "88.88", as its number of the smallest unit: 8888
// of CNY. Zeros after the currency's last decimal are allowed. ok is false for a text that is no
// decimal number, a sign, an exponent, a fraction of the smallest unit, more than an int64, and an
// unknown currency.
func Parse(text, code string) (n int64, ok bool) {
	decimals, known := Decimals(code)
	whole, fraction, _ := strings.Cut(text, ".")
	if !known || whole == "" || strings.HasSuffix(text, ".") {
		return 0, false
	}
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return 0, false
		}
		fraction = fraction[:decimals]
	}
	return Smallest(whole + fraction + strings.Repeat("0", decimals-len(fraction)))
}

// Smallest reads an amount that is already a number of the smallest unit. ok is false for anything
// but digits, and for more than an int64.
func Smallest(text string) (n int64, ok bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Format writes an amount for people: 8799 of CNY as "87.99 CNY", 8799 of JPY as "8799 JPY". An
// amount whose decimals are not known stays a number of the smallest unit: "8799 XYZ", or "8799"
// without a code.
func Format(n int64, code string) string {
	if code == "" {
		return strconv.FormatInt(n, 10)
	}
	return Whole(n, code) + " " + code
}

// Whole writes an amount in whole units, with all decimals of the currency: 8799 of CNY as "87.99",
// of JPY as "8799". An amount whose decimals are not known stays a number of the smallest unit.
func Whole(n int64, code string) string {
	decimals, _ := Decimals(code)
	digits, minus := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	if short := decimals + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	if decimals > 0 {
		digits = digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
	}
	if minus {
		digits = "-" + digits
	}
	return digits
}

// Shown is Format of an amount that is text. A text that Smallest does not read stays as it is, in
// quotes and cut off.
func Shown(text, code string) string {
	if n, ok := Smallest(text); ok {
		return Format(n, code)
	}
	return fmt.Sprintf("%.20q", text)
}
