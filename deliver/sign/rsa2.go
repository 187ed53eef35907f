package sign

import "github.com/bellmanhq/bellman/internal/coded"

// newRSA2 signs as Alipay signs its notifications: RSA-SHA256 over the sorted parameters, except
// sign and sign_type. Alipay's SDKs disagree about empty parameters (Java and Node.js keep them,
// PHP leaves them out), so none is sent. https://opendocs.alipay.com/common/02mse7
func newRSA2(secrets []Secret) (*params, error) {
	p := &params{
		Params: Params{Name: "sign", Order: "sorted", Empty: "keep"}, scheme: RSA2, drop: true,
		also: []param{{name: "sign_type", value: "RSA2"}},
	}
	for i, secret := range secrets {
		sign, err := RSASigner(secret)
		if err != nil {
			return nil, coded.Errorf("sign.want_rsa2", "secrets[%d]: want an RSA private key of 2048 bits or more, in PEM or base64, PKCS #8 or PKCS #1", i)
		}
		if i == 0 {
			p.sum = sign
		}
	}
	return p, nil
}
