"""Words that tell what a form does, in some twenty languages; and the reasons why one is not sent.

Without accents and in lower case, as ``form_safety.normal`` makes them; an underscore stands for a space.
"""

# ruff: noqa: E501 - one line a list of words

from __future__ import annotations

from enum import StrEnum


class Unsafe(StrEnum):
    """Why a form is not sent; ``fyke status`` counts by these."""

    METHOD = "method"
    """It is posted: that may change something."""
    ELSEWHERE = "elsewhere"
    """It leads to another host, or to no address of the web."""
    TOO_LARGE = "too-large"
    """It has more fields than are read."""
    TOKEN = "token"  # noqa: S105 - a reason
    """A hidden token shows that it does something (CSRF)."""
    LOGIN = "login"
    ACCOUNT = "account"
    """It makes or changes an account, or logs out."""
    CONTACT = "contact"
    """It sends a message, or asks for an address or a number."""
    PAYMENT = "payment"
    """It orders, buys or pays."""
    DELETE = "delete"
    SUBSCRIBE = "subscribe"
    UPLOAD = "upload"
    CHANGE = "change"
    """It adds, edits, votes, sends."""
    CAPTCHA = "captcha"
    CONSENT = "consent"
    """A box must be checked."""
    SEVERAL_TEXTS = "several-texts"
    """More than one box for free text: no search."""
    NOTHING = "nothing"
    """There is nothing to fill in or to choose."""
    # by the crawl
    ROBOTS = "robots"
    SCOPE = "scope"
    PRIVATE = "private"
    """It is behind a login."""
    TOO_MANY = "too-many"
    """The host has as many forms already as are tried."""


MEANING: dict[Unsafe, str] = {
    Unsafe.METHOD: "it is posted, which may change something (--post, or a crawl's --forms post, allows it)",
    Unsafe.ELSEWHERE: "it leads to another host, or to none",
    Unsafe.TOO_LARGE: "it has more fields than are read",
    Unsafe.TOKEN: "a hidden token shows that it does something",
    Unsafe.LOGIN: "it asks for a user or a password",
    Unsafe.ACCOUNT: "it makes, changes or leaves an account",
    Unsafe.CONTACT: "it sends a message, or asks for an address or a number",
    Unsafe.PAYMENT: "it orders, buys or pays",
    Unsafe.DELETE: "it deletes",
    Unsafe.SUBSCRIBE: "it subscribes, or ends that",
    Unsafe.UPLOAD: "it uploads a file",
    Unsafe.CHANGE: "it changes something: adds, edits, votes, sends",
    Unsafe.CAPTCHA: "it asks for proof of a person",
    Unsafe.CONSENT: "it asks for consent",
    Unsafe.SEVERAL_TEXTS: "it has more than one box for words, so it is no search",
    Unsafe.NOTHING: "there is nothing to fill in or to choose",
    Unsafe.ROBOTS: "robots.txt does not allow where it leads",
    Unsafe.SCOPE: "it leads out of the crawl",
    Unsafe.PRIVATE: "it is behind a login",
    Unsafe.TOO_MANY: "its host has as many forms already as are tried",
}
"""The reasons in words."""

STEMS: dict[Unsafe, str] = {
    Unsafe.CAPTCHA: "captcha turnstile 验证码 認証コード",
    Unsafe.LOGIN: "password passwort passwd kennwort contrasena contrasenya mot_de_passe motdepasse senha wachtwoord haslo losenord parol пароль κωδικος salasana sifre 密码 密碼 パスワード 비밀번호 كلمه_المرور كلمة_المرور पासवर्ड login logon signin sign_in log_in einloggen anmelde connexion se_connecter iniciar_sesion inloggen zaloguj logga_in войти авториз συνδεση giris_yap oturum_ac 登录 登入 ログイン 로그인 تسجيل_الدخول लॉगिन username user_name benutzername nom_d_utilisateur nombre_de_usuario passcode verification_code verify_identity authenticator",
    Unsafe.ACCOUNT: "signup sign_up registration registrier register_now registrarse registrati inscription zarejestruj регистрац εγγραφη kayit_ol 注册 註冊 会員登録 新規登録 회원가입 انشاء_حساب पंजीकरण create_account konto_erstellen creer_un_compte crear_cuenta first_name firstname last_name lastname surname vorname nachname prenom apellido logout log_out logoff signout sign_out abmelde deconnexion free_trial cerrar_sesion disconnetti uitloggen wyloguj выйти 退出登录 登出 ログアウト 로그아웃 تسجيل_الخروج लॉगआउट deactivate opt_out optout",
    Unsafe.CONTACT: "email e_mail courriel telephone phone_number phonenumber telefon telefono mobile_number message nachricht mensaje messaggio mensagem wiadomosc сообщени 留言 消息 メッセージ メール メールアドレス お問い合わせ 邮箱 郵箱 邮件 電子郵件 이메일 문의 البريد اتصل_بنا ईमेल संपर्क contact kontakt contatt contato feedback comment kommentar commentaire comentari comentário коммента 评论 評論 コメント 댓글 تعليق टिप्पणी guestbook gastebuch enquiry inquiry whatsapp обратная_связь написать_нам электронн tell_us",
    Unsafe.PAYMENT: "credit_card creditcard kreditkarte tarjeta_de_credito carte_bancaire card_number cardnumber checkout payment paypal bezahl zahlung paiement betaling platnosc оплат 支付 付款 支払 결제 الدفع भुगतान warenkorb einkaufswagen add_to_cart addtocart add_to_basket panier carrito carrello winkelwagen koszyk корзин 购物车 購物車 カートに 장바구니 purchase kaufen bestell acheter comprar купить 购买 購入 구매 شراء donat spende book_now buchen reservier reservar",
    Unsafe.DELETE: "delete destroy loschen loesche supprimer effacer borrar eliminar eliminare cancellare excluir verwijder удалит удалени διαγραφη ta_bort poista 删除 刪除 削除 삭제 حذف हटाए remove truncate",
    Unsafe.SUBSCRIBE: "subscri newsletter abonnier abonnement s_abonner suscri iscriviti inscreva assinar подписат подписк рассылк 订阅 訂閱 購読 구독 اشترك सदस्यता mailing_list mailinglist mailchimp prenumerera abone_ol",
    Unsafe.CHANGE: "survey umfrage sondage encuesta опрос helpful petition cookie consent einwilligung preference palette",
    Unsafe.UPLOAD: "upload hochladen televerser загрузит 上传 上傳 アップロード 업로드 رفع_ملف अपलोड",
}
"""Parts of words that do so, wherever they stand."""

WORDS: dict[Unsafe, str] = {
    Unsafe.LOGIN: "user userid uid usr pass pwd pin otp 2fa mfa benutzer utilisateur usuario utente identifiant login",
    Unsafe.ACCOUNT: "register registrieren",
    Unsafe.CONTACT: "mail phone tel fax reply sms anfrage",
    Unsafe.PAYMENT: "pay card karte cart basket buy iban cvv cvc",
    Unsafe.DELETE: "erase purge kill drop sil wipe slett slette usun usunac",
    Unsafe.CHANGE: "poll vote theme skin styleid",
    Unsafe.SUBSCRIBE: "unsub optin",
}
"""Whole words that do, wherever they stand."""

PLACES: dict[Unsafe, str] = {
    Unsafe.ACCOUNT: "account konto compte cuenta profile settings logout signin join",
    Unsafe.PAYMENT: "order orders bestellung commande pedido caisse kasse book booking",
    Unsafe.CHANGE: "add edit update save create publish vote votes rate like unlike follow unfollow share invite send post submit reply report flag apply admin import insert set reset move rename restore approve ban block install run exec execute toggle enable disable confirm cancel speichern hinzufugen bearbeiten senden abstimmen close restart reboot shutdown terminate deploy transfer withdraw refund bid sell enroll enrol rsvp claim redeem activate lock unlock assign accept decline dismiss hide mark merge revert undo sync",
    Unsafe.DELETE: "del rm",
}
"""Words that do at the end of where a form leads."""

VERBS: dict[Unsafe, str] = {
    Unsafe.ACCOUNT: "join anmelden registrieren register",
    Unsafe.PAYMENT: "order buy pay checkout book reserve donate",
    Unsafe.CHANGE: "add save edit create publish vote rate like follow share invite send post reply report approve confirm cancel speichern hinzufugen bearbeiten senden abstimmen voter ajouter enregistrer modifier publier guardar anadir editar votar publicar salva aggiungi modifica vota salvar adicionar dodaj zapisz glosuj добавить сохранить изменить голосовать отправить 保存 添加 编辑 投票 追加 編集 送信する 저장 추가 수정 투표 restart reboot terminate transfer withdraw refund bid sell enroll enrol rsvp claim redeem activate accept decline",
}
"""Words that do as the first of what a button says."""
