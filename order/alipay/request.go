package alipay

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// beijing is the time zone of a request's timestamp, which knows no summer time.
var beijing = time.FixedZone("CST", 8*60*60)

// request makes the signed request that calls a method. fields is what biz_content holds.
func (c *Channel) request(ctx context.Context, method string, fields map[string]any) (*http.Request, error) {
	content, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"app_id":      {c.appID},
		"method":      {method},
		"format":      {"JSON"},
		"charset":     {"utf-8"},
		"sign_type":   {"RSA2"},
		"timestamp":   {c.now().In(beijing).Format(time.DateTime)},
		"version":     {"1.0"},
		"biz_content": {string(content)},
	}
	if token := c.token(); token != "" {
		form.Set("app_auth_token", token)
	}
	if c.appCertSN != "" {
		form.Set("app_cert_sn", c.appCertSN)
		form.Set("alipay_root_cert_sn", c.rootCertSN)
	}
	signature, err := c.sign(signedText(form, false, "sign"))
	if err != nil {
		return nil, err
	}
	form.Set("sign", signature)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.gateway, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// signedText is the text that is signed of parameters: those that are not among without, sorted by
// name, as name=value joined with &, and not encoded as a form is. Empty ones are left out unless
// empty is true. https://opendocs.alipay.com/common/02kf5q (自行实现签名)
func signedText(form url.Values, empty bool, without ...string) []byte {
	names := make([]string, 0, len(form))
	for name := range form {
		if !slices.Contains(without, name) && (empty || form.Get(name) != "") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text []byte
	for i, name := range names {
		if i > 0 {
			text = append(text, '&')
		}
		text = append(append(append(text, name...), '='), form.Get(name)...)
	}
	return text
}
