// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantSign, as the API has it. What is null is left out.
 *
 * @param scheme standard_webhooks, wechat_rsa, md5_params, hmac_sha256_params, jeepay_md5, roncoo_md5, md5_key, rsa2, t_v1.
 * @param header Only for t_v1: the header with the signature; default Stripe-Signature.
 * @param params Only for md5_key: what is signed, as NAME=VALUE with blanks between them. Names: preset (jeepay, roncoo), name, order (sorted, ignore_case, given), key, case (upper, lower), empty (skip, skip_blank, keep), fields.
 * @param secrets Signing secrets, the newest first. They are never returned: answers show three stars and the last four characters. Default: the secrets stay. A secret written as an answer shows it (***abcd) stays; sealed:… comes from an export.
 * @param serial Only for wechat_rsa: the serial number of the key.
 */
public record MerchantSign(
        SignScheme scheme,
        String header,
        String params,
        List<String> secrets,
        String serial) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "scheme", scheme,
                "header", header,
                "params", params,
                "secrets", secrets,
                "serial", serial);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(SignScheme scheme) {
        return new Builder(scheme);
    }

    /** Gathers what a MerchantSign has. It is of one thread. */
    public static final class Builder {
        private final SignScheme scheme;
        private String header;
        private String params;
        private List<String> secrets;
        private String serial;

        private Builder(SignScheme scheme) {
            this.scheme = scheme;
        }

        /** Only for t_v1: the header with the signature; default Stripe-Signature. */
        public Builder header(String header) {
            this.header = header;
            return this;
        }

        /** Only for md5_key: what is signed, as NAME=VALUE with blanks between them. Names: preset (jeepay, roncoo), name, order (sorted, ignore_case, given), key, case (upper, lower), empty (skip, skip_blank, keep), fields. */
        public Builder params(String params) {
            this.params = params;
            return this;
        }

        /** Signing secrets, the newest first. They are never returned: answers show three stars and the last four characters. Default: the secrets stay. A secret written as an answer shows it (***abcd) stays; sealed:… comes from an export. */
        public Builder secrets(List<String> secrets) {
            this.secrets = secrets;
            return this;
        }

        /** Only for wechat_rsa: the serial number of the key. */
        public Builder serial(String serial) {
            this.serial = serial;
            return this;
        }

        public MerchantSign build() {
            return new MerchantSign(scheme, header, params, secrets, serial);
        }
    }
}
