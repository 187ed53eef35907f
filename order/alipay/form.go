package alipay

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// parseForm reads the body of a notice: names and values as the bytes that were encoded, in the
// charset of the notice. A name that is there twice is refused, because nobody could tell which
// value was signed.
func parseForm(body []byte) (url.Values, error) {
	form := url.Values{}
	for pair := range strings.SplitSeq(string(body), "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		switch {
		case err != nil:
			return nil, errors.New("the notice is not a form")
		case form.Has(name):
			return nil, fmt.Errorf("the notice has %.40q twice: no telling which was signed", name)
		case name != "":
			form.Set(name, value)
		}
	}
	return form, nil
}

// verifyForm says why a notice is not Alipay's; nil: it is. All parameters but sign and sign_type
// are signed. Alipay's SDKs differ about empty ones: Java and Node.js keep them, PHP leaves them
// out.
func (c *Channel) verifyForm(form url.Values) error {
	signature, kind := form.Get("sign"), form.Get("sign_type")
	switch {
	case signature == "":
		return errors.New("the notice is not signed")
	case kind != "RSA2":
		return fmt.Errorf("the notice is signed with %.20q: want RSA2", kind)
	}
	for _, empty := range []bool{true, false} {
		text := signedText(form, empty, "sign", "sign_type")
		for _, key := range c.keys {
			if key.Verify(text, signature) {
				return nil
			}
		}
	}
	return errors.New("the notice's signature is wrong")
}

// ours says why a notice is not for this application and seller; nil: it is.
func (c *Channel) ours(form url.Values) error {
	switch {
	case form.Get("app_id") != c.appID:
		return fmt.Errorf("the notice is for the application %.40q: want %.40q", form.Get("app_id"), c.appID)
	case c.sellerID != "" && form.Get("seller_id") != c.sellerID:
		return fmt.Errorf("the notice is for the seller %.40q: want %.40q", form.Get("seller_id"), c.sellerID)
	}
	return nil
}

// decode returns the parameters of a notice in UTF-8, without sign and sign_type. Bytes that are
// not of the notice's charset become U+FFFD: a subject that was cut within a character must not
// lose a payment.
func decode(form url.Values) (map[string]string, error) {
	var from encoding.Encoding
	switch charset := strings.ToLower(form.Get("charset")); charset {
	case "", "utf-8", "utf8":
	case "gbk", "gb2312":
		from = simplifiedchinese.GBK
	case "gb18030":
		from = simplifiedchinese.GB18030
	default:
		return nil, fmt.Errorf("the notice's charset is %.20q: want utf-8 or gbk", charset)
	}
	fields := make(map[string]string, len(form))
	for name := range form {
		if name == "sign" || name == "sign_type" {
			continue
		}
		value := form.Get(name)
		if from != nil {
			text, err := from.NewDecoder().String(value)
			if err != nil {
				return nil, fmt.Errorf("the notice's %.40q cannot be read as %s", name, form.Get("charset"))
			}
			value = text
		}
		fields[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return fields, nil
}
