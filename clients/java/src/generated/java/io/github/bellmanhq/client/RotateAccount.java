// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * RotateAccount, as the API has it. What is null is left out.
 *
 * @param alipayPublicKeys alipay: the public keys or certificates that verify answers. All of them, or none to leave them.
 * @param apiV3Key wechatpay: decrypts notices; without it none can be read.
 * @param appAuthToken alipay: of a merchant that authorised another one's application.
 * @param appCertificate alipay: of an application with certificates.
 * @param certificate wechatpay: the merchant's certificate. It says serial and when it expires.
 * @param overlap How long the former keys stay valid, at most 90d; default 24h.
 * @param platformKeys wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed.
 * @param privateKey The merchant's or the application's private key, which signs requests.
 * @param reason see the API
 * @param rootCertificates alipay: of an application with certificates.
 * @param serial wechatpay: of the certificate that belongs to the new private_key.
 */
public record RotateAccount(
        List<String> alipayPublicKeys,
        String apiV3Key,
        String appAuthToken,
        String appCertificate,
        String certificate,
        String overlap,
        Map<String, String> platformKeys,
        String privateKey,
        String reason,
        String rootCertificates,
        String serial) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "alipay_public_keys", alipayPublicKeys,
                "api_v3_key", apiV3Key,
                "app_auth_token", appAuthToken,
                "app_certificate", appCertificate,
                "certificate", certificate,
                "overlap", overlap,
                "platform_keys", platformKeys,
                "private_key", privateKey,
                "reason", reason,
                "root_certificates", rootCertificates,
                "serial", serial);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a RotateAccount has. It is of one thread. */
    public static final class Builder {
        private List<String> alipayPublicKeys;
        private String apiV3Key;
        private String appAuthToken;
        private String appCertificate;
        private String certificate;
        private String overlap;
        private Map<String, String> platformKeys;
        private String privateKey;
        private String reason;
        private String rootCertificates;
        private String serial;

        private Builder() {
        }

        /** alipay: the public keys or certificates that verify answers. All of them, or none to leave them. */
        public Builder alipayPublicKeys(List<String> alipayPublicKeys) {
            this.alipayPublicKeys = alipayPublicKeys;
            return this;
        }

        /** wechatpay: decrypts notices; without it none can be read. */
        public Builder apiV3Key(String apiV3Key) {
            this.apiV3Key = apiV3Key;
            return this;
        }

        /** alipay: of a merchant that authorised another one's application. */
        public Builder appAuthToken(String appAuthToken) {
            this.appAuthToken = appAuthToken;
            return this;
        }

        /** alipay: of an application with certificates. */
        public Builder appCertificate(String appCertificate) {
            this.appCertificate = appCertificate;
            return this;
        }

        /** wechatpay: the merchant's certificate. It says serial and when it expires. */
        public Builder certificate(String certificate) {
            this.certificate = certificate;
            return this;
        }

        /** How long the former keys stay valid, at most 90d; default 24h. */
        public Builder overlap(String overlap) {
            this.overlap = overlap;
            return this;
        }

        /** wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed. */
        public Builder platformKeys(Map<String, String> platformKeys) {
            this.platformKeys = platformKeys;
            return this;
        }

        /** The merchant's or the application's private key, which signs requests. */
        public Builder privateKey(String privateKey) {
            this.privateKey = privateKey;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** alipay: of an application with certificates. */
        public Builder rootCertificates(String rootCertificates) {
            this.rootCertificates = rootCertificates;
            return this;
        }

        /** wechatpay: of the certificate that belongs to the new private_key. */
        public Builder serial(String serial) {
            this.serial = serial;
            return this;
        }

        public RotateAccount build() {
            return new RotateAccount(alipayPublicKeys, apiV3Key, appAuthToken, appCertificate, certificate, overlap, platformKeys, privateKey, reason, rootCertificates, serial);
        }
    }
}
