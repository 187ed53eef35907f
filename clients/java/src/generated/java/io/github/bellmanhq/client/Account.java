// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Account, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param account see the API
 * @param channel see the API
 * @param created see the API
 * @param endpoint What the channel's limits count. Accounts with the same one share a rate and a pace, and are paused together.
 * @param identity Which account it is at the channel: a channel_order_no is unique within it.
 * @param keys All keys with their times.
 * @param name see the API
 * @param updated see the API
 * @param version Changes with each change of the account.
 * @param alipayPublicKeys alipay: the public keys or certificates that verify answers. All of them, or none to leave them.
 * @param apiV3Key wechatpay: decrypts notices; without it none can be read.
 * @param appAuthToken alipay: of a merchant that authorised another one's application.
 * @param appCertificate alipay: of an application with certificates.
 * @param appId see the API
 * @param certificate wechatpay: the merchant's certificate. It says serial and when it expires.
 * @param former Keys that a rotation replaced, and that stay valid for a while.
 * @param mchId see the API
 * @param platformKeys wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed.
 * @param privateKey The merchant's or the application's private key, which signs requests.
 * @param problem Why the channel cannot be asked now: a master key is missing, or the keys cannot be opened.
 * @param rate see the API
 * @param rootCertificates alipay: of an application with certificates.
 * @param sellerId see the API
 * @param serial see the API
 * @param sharedRate The smallest rate of all accounts with this endpoint. Absent if none has one.
 * @param subMchId see the API
 * @param url see the API
 */
public record Account(
        String account,
        String channel,
        Instant created,
        String endpoint,
        String identity,
        List<AccountKey> keys,
        String name,
        Instant updated,
        String version,
        List<String> alipayPublicKeys,
        String apiV3Key,
        String appAuthToken,
        String appCertificate,
        String appId,
        String certificate,
        List<FormerKey> former,
        String mchId,
        Map<String, String> platformKeys,
        String privateKey,
        String problem,
        String rate,
        String rootCertificates,
        String sellerId,
        String serial,
        String sharedRate,
        String subMchId,
        String url) {
    static Account of(Object json) {
        var r = Shape.Reader.of("Account", json);
        return new Account(
                r.text("account"),
                r.text("channel"),
                r.time("created"),
                r.text("endpoint"),
                r.text("identity"),
                r.list("keys", AccountKey::of),
                r.text("name"),
                r.time("updated"),
                r.text("version"),
                r.list("alipay_public_keys", String.class::cast),
                r.text("api_v3_key"),
                r.text("app_auth_token"),
                r.text("app_certificate"),
                r.text("app_id"),
                r.text("certificate"),
                r.list("former", FormerKey::of),
                r.text("mch_id"),
                r.map("platform_keys", String.class::cast),
                r.text("private_key"),
                r.text("problem"),
                r.text("rate"),
                r.text("root_certificates"),
                r.text("seller_id"),
                r.text("serial"),
                r.text("shared_rate"),
                r.text("sub_mch_id"),
                r.text("url"));
    }
}
