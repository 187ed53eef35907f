// Makes and checks notices with the SDKs of payment channels. It reads one job from the file that is its argument, and prints
// what came of it, both as JSON.
import { createHash, createSign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import axiosPlugin from 'wechatpay-axios-plugin';
import nodeV3 from 'wechatpay-node-v3';
import { AlipaySdk } from 'alipay-sdk';
import Stripe from 'stripe';
import { Webhook } from 'standardwebhooks';

const { Aes, Formatter, Hash, Rsa, Transformer } = axiosPlugin;
const Pay = nodeV3.default ?? nodeV3;

const jobs = {
  // wechatpay-axios-plugin encrypts and signs a notice.
  wechat_make({ privateKey, key, serial, timestamp, event, original, content }) {
    const nonce = Formatter.nonce(12);
    const data = 'transaction';
    const body = JSON.stringify({
      id: 'EV-2018022511223320873',
      create_time: '2026-11-20T20:00:00+08:00',
      resource_type: 'encrypt-resource',
      event_type: event,
      summary: '支付成功',
      resource: {
        original_type: original,
        algorithm: 'AEAD_AES_256_GCM',
        ciphertext: Aes.AesGcm.encrypt(content, key, nonce, data),
        associated_data: data,
        nonce,
      },
    });
    const once = Formatter.nonce();
    const signature = Rsa.sign(Formatter.response(timestamp, once, body), Rsa.from(privateKey, 'private'));
    return {
      body,
      header: { 'Wechatpay-Timestamp': timestamp, 'Wechatpay-Nonce': once, 'Wechatpay-Serial': serial, 'Wechatpay-Signature': signature },
    };
  },

  // Two SDKs verify and decrypt a notice.
  async wechat_read({ publicKey, privateKey, key, header, body }) {
    const stamp = header['Wechatpay-Timestamp'], once = header['Wechatpay-Nonce'];
    const serial = header['Wechatpay-Serial'], signature = header['Wechatpay-Signature'];
    const { resource: r } = JSON.parse(body);
    Pay.certificates = { [serial]: publicKey };
    const pay = new Pay({ appid: 'wx1', mchid: '1230000109', serial_no: serial, publicKey: Buffer.from(publicKey), privateKey: Buffer.from(privateKey), key });
    return {
      axios_plugin: Rsa.verify(Formatter.response(stamp, once, body), signature, Rsa.from(publicKey, 'public')),
      axios_plugin_content: Aes.AesGcm.decrypt(r.ciphertext, key, r.nonce, r.associated_data),
      node_v3: await pay.verifySign({ timestamp: stamp, nonce: once, body, serial, signature }),
      node_v3_content: JSON.stringify(pay.decipher_gcm(r.ciphertext, r.associated_data, r.nonce, key)),
    };
  },

  // wechatpay-axios-plugin writes and signs XML of API v2. With refund, that is encrypted into req_info, and nothing is signed.
  wechat_v2_make({ key, kind, fields, refund }) {
    if (refund) {
      return { body: Transformer.toXml({ ...fields, req_info: Aes.AesEcb.encrypt(Transformer.toXml(refund).replace(/^<xml>|<\/xml>$/g, (tag) => tag.replace('xml', 'root')), Hash.md5(key)) }) };
    }
    return { body: Transformer.toXml({ ...fields, sign: Hash.sign(kind, fields, key) }) };
  },

  // wechatpay-axios-plugin reads and verifies XML of API v2.
  wechat_v2_read({ key, body }) {
    const fields = Transformer.toObject(body);
    return { valid: Hash.equals(Hash.sign(fields.sign_type, fields, key), fields.sign), fields };
  },

  // Node's own crypto signs a notice of Antom, as its document says.
  antom_make({ privateKey, path, client, time, body }) {
    const signature = createSign('RSA-SHA256').update(`POST ${path}\n${client}.${time}.${body}`).sign(privateKey, 'base64');
    return { header: `algorithm=RSA256,keyVersion=1,signature=${encodeURIComponent(signature)}` };
  },

  // Node's own crypto signs a message of UnionPay, as its SDK for Java does.
  unionpay_make({ privateKey, fields }) {
    const text = Object.keys(fields).sort().map((name) => `${name}=${fields[name]}`).join('&');
    const digest = createHash('sha256').update(text).digest('hex');
    const signature = createSign('RSA-SHA256').update(digest).sign(privateKey, 'base64');
    return { body: new URLSearchParams({ ...fields, signature }).toString() };
  },

  // alipay-sdk verifies a notice.
  alipay_read({ appId, privateKey, publicKey, body }) {
    const sdk = new AlipaySdk({ appId, privateKey, keyType: 'PKCS8', alipayPublicKey: publicKey });
    return { alipay_sdk: sdk.checkNotifySignV2(Object.fromEntries(new URLSearchParams(body))) };
  },

  // stripe signs a body with each of some secrets, and checks it.
  stripe_make({ secrets, body, timestamp }) {
    const header = [`t=${timestamp}`];
    for (const secret of secrets) {
      const one = Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: Number(timestamp) });
      Stripe.webhooks.constructEvent(body, one, secret, undefined, undefined, Number(timestamp) * 1000);
      header.push(one.split(',')[1]);
    }
    return { header: header.join(',') };
  },

  // standardwebhooks signs a body with each of some secrets.
  standard_make({ secrets, body, id, timestamp }) {
    return { header: secrets.map((secret) => new Webhook(secret).sign(id, new Date(Number(timestamp) * 1000), body)).join(' ') };
  },
};

const job = JSON.parse(readFileSync(process.argv[2], 'utf8'));
console.log(JSON.stringify(await jobs[job.do](job)));
