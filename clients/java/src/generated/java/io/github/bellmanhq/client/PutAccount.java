// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * PutAccount, as the API has it. What is null is left out.
 *
 * @param channel It cannot be changed.
 * @param account see the API
 * @param alipayPublicKeys alipay: the public keys or certificates that verify answers. All of them, or none to leave them.
 * @param apiV3Key wechatpay: decrypts notices; without it none can be read.
 * @param appAuthToken alipay: of a merchant that authorised another one's application.
 * @param appCertificate alipay: of an application with certificates.
 * @param appId The application. Required for alipay, where it cannot be changed.
 * @param certificate wechatpay: the merchant's certificate. It says serial and when it expires.
 * @param former Keys that a rotation replaced, and that stay valid for a while, as an export has them. Default: they stay.
 * @param mchId wechatpay: the number of the merchant, or of the service provider. It cannot be changed.
 * @param name A name for people. The search matches its beginning.
 * @param platformKeys wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed.
 * @param privateKey The merchant's or the application's private key, which signs requests.
 * @param rate Most requests per s, m or h, from 1/h to 1000000/s. All accounts of one mch_id, or of one app_id of alipay, share the smallest of their rates. Default: no limit but the queue's.
 * @param reason Written to the audit record.
 * @param rootCertificates alipay: of an application with certificates.
 * @param sellerId alipay: whose notices are read; default: those of every seller of the application. With app_auth_token it is required, and cannot be changed.
 * @param serial wechatpay: the serial number of the merchant's certificate.
 * @param subMchId wechatpay: the sub-merchant of a service provider. It cannot be changed.
 * @param url The provider's address; default: the usual one.
 * @param version The version of an earlier answer: if the account has another version now, the answer is 409 and nothing changes. none: the account must not exist. Default: no check.
 */
public record PutAccount(
        AccountChannel channel,
        String account,
        List<String> alipayPublicKeys,
        String apiV3Key,
        String appAuthToken,
        String appCertificate,
        String appId,
        String certificate,
        List<FormerKey> former,
        String mchId,
        String name,
        Map<String, String> platformKeys,
        String privateKey,
        String rate,
        String reason,
        String rootCertificates,
        String sellerId,
        String serial,
        String subMchId,
        String url,
        String version) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "channel", channel,
                "account", account,
                "alipay_public_keys", alipayPublicKeys,
                "api_v3_key", apiV3Key,
                "app_auth_token", appAuthToken,
                "app_certificate", appCertificate,
                "app_id", appId,
                "certificate", certificate,
                "former", former,
                "mch_id", mchId,
                "name", name,
                "platform_keys", platformKeys,
                "private_key", privateKey,
                "rate", rate,
                "reason", reason,
                "root_certificates", rootCertificates,
                "seller_id", sellerId,
                "serial", serial,
                "sub_mch_id", subMchId,
                "url", url,
                "version", version);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(AccountChannel channel) {
        return new Builder(channel);
    }

    /** Gathers what a PutAccount has. It is of one thread. */
    public static final class Builder {
        private final AccountChannel channel;
        private String account;
        private List<String> alipayPublicKeys;
        private String apiV3Key;
        private String appAuthToken;
        private String appCertificate;
        private String appId;
        private String certificate;
        private List<FormerKey> former;
        private String mchId;
        private String name;
        private Map<String, String> platformKeys;
        private String privateKey;
        private String rate;
        private String reason;
        private String rootCertificates;
        private String sellerId;
        private String serial;
        private String subMchId;
        private String url;
        private String version;

        private Builder(AccountChannel channel) {
            this.channel = channel;
        }

        public Builder account(String account) {
            this.account = account;
            return this;
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

        /** The application. Required for alipay, where it cannot be changed. */
        public Builder appId(String appId) {
            this.appId = appId;
            return this;
        }

        /** wechatpay: the merchant's certificate. It says serial and when it expires. */
        public Builder certificate(String certificate) {
            this.certificate = certificate;
            return this;
        }

        /** Keys that a rotation replaced, and that stay valid for a while, as an export has them. Default: they stay. */
        public Builder former(List<FormerKey> former) {
            this.former = former;
            return this;
        }

        /** wechatpay: the number of the merchant, or of the service provider. It cannot be changed. */
        public Builder mchId(String mchId) {
            this.mchId = mchId;
            return this;
        }

        /** A name for people. The search matches its beginning. */
        public Builder name(String name) {
            this.name = name;
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

        /** Most requests per s, m or h, from 1/h to 1000000/s. All accounts of one mch_id, or of one app_id of alipay, share the smallest of their rates. Default: no limit but the queue's. */
        public Builder rate(String rate) {
            this.rate = rate;
            return this;
        }

        /** Written to the audit record. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** alipay: of an application with certificates. */
        public Builder rootCertificates(String rootCertificates) {
            this.rootCertificates = rootCertificates;
            return this;
        }

        /** alipay: whose notices are read; default: those of every seller of the application. With app_auth_token it is required, and cannot be changed. */
        public Builder sellerId(String sellerId) {
            this.sellerId = sellerId;
            return this;
        }

        /** wechatpay: the serial number of the merchant's certificate. */
        public Builder serial(String serial) {
            this.serial = serial;
            return this;
        }

        /** wechatpay: the sub-merchant of a service provider. It cannot be changed. */
        public Builder subMchId(String subMchId) {
            this.subMchId = subMchId;
            return this;
        }

        /** The provider's address; default: the usual one. */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        /** The version of an earlier answer: if the account has another version now, the answer is 409 and nothing changes. none: the account must not exist. Default: no check. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        public PutAccount build() {
            return new PutAccount(channel, account, alipayPublicKeys, apiV3Key, appAuthToken, appCertificate, appId, certificate, former, mchId, name, platformKeys, privateKey, rate, reason, rootCertificates, sellerId, serial, subMchId, url, version);
        }
    }
}
