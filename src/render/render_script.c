#include "render/render_script.h"

#include <inttypes.h>
#include <string.h>

static const char script_start[] =
    "(()=>{'use strict';"
    "const told=[];const refuse=(what)=>{if(told.length<100)told.push(what)};"
    "let hears=false;"
    "addEventListener('" RENDER_QUESTION
    "',()=>{if(globalThis.onscroll||document.onscroll)hears=true;"
    "document.documentElement.setAttribute('" RENDER_QUESTION
    "',(hears?['scroll',...told]:told).join(','))});"
    "const put=(o,n,v)=>{try{Object.defineProperty(o,n,{value:v,writable:true,configurable:true,"
    "enumerable:false})}catch(e){}};"
    /* whether the page wants to know how far it is scrolled */
    "const listen=EventTarget.prototype.addEventListener;"
    "put(EventTarget.prototype,'addEventListener',function addEventListener(t,f,o){"
    "if(t==='scroll'||t==='wheel'||t==='scrollend')hears=true;"
    "return Reflect.apply(listen,this,[t,f,o])});"
    "if(globalThis.IntersectionObserver){const observe=IntersectionObserver.prototype.observe;"
    "put(IntersectionObserver.prototype,'observe',function(e){hears=true;"
    "return Reflect.apply(observe,this,[e])})}"
    /* xorshift32: the same numbers in each rendering */
    "let seed=0x9e3779b9;const next=()=>{seed^=seed<<13;seed^=seed>>>17;seed^=seed<<5;"
    "return seed>>>0};"
    "put(Math,'random',function(){return next()/4294967296});"
    "if(globalThis.Crypto){"
    "put(Crypto.prototype,'getRandomValues',function getRandomValues(a){"
    "const b=new Uint8Array(a.buffer,a.byteOffset,a.byteLength);"
    "for(let i=0;i<b.length;i++)b[i]=next();return a});"
    "put(Crypto.prototype,'randomUUID',function randomUUID(){"
    "const h=(n)=>next().toString(16).padStart(8,'0').slice(0,n);"
    "return h(8)+'-'+h(4)+'-4'+h(3)+'-8'+h(3)+'-'+h(8)+h(4)})}"
    "const Real=Date;const realNow=Date.now;"
    "const Fake=new Proxy(Real,{construct(t,a,n){"
    "return Reflect.construct(t,a.length===0?[realNow()+OFFSET]:a,n===Fake?t:n)},"
    "apply(){return new Fake().toString()}});"
    "put(Real,'now',function now(){return realNow()+OFFSET});"
    "put(Real.prototype,'constructor',Fake);put(globalThis,'Date',Fake);"
    "const origin=performance.timeOrigin;"
    "try{Object.defineProperty(Performance.prototype,'timeOrigin',{get(){return origin+OFFSET},"
    "configurable:true})}catch(e){}"
    "try{Object.defineProperty(Navigator.prototype,'onLine',{get(){return true},"
    "configurable:true})}catch(e){}"
    "const dead=(name)=>{if(!globalThis[name])return;const C=class extends EventTarget{"
    "constructor(){super();refuse(name);this.readyState=3;this.onopen=this.onmessage=this.onclose="
    "this.onerror=null;setTimeout(()=>{for(const t of ['error','close']){const e=new Event(t);"
    "const f=this['on'+t];if(typeof f==='function')f.call(this,e);this.dispatchEvent(e)}},0)}"
    "close(){}send(){}};"
    "for(const[k,v]of Object.entries({CONNECTING:0,OPEN:1,CLOSING:2,CLOSED:3})){C[k]=v;"
    "C.prototype[k]=v}put(globalThis,name,C)};"
    "dead('WebSocket');dead('EventSource');"
    "for(const n of['RTCPeerConnection','webkitRTCPeerConnection','WebTransport','SharedWorker'])"
    "if(globalThis[n])put(globalThis,n,function(){refuse(n);"
    "throw new DOMException('not here','NotSupportedError')});"
    "if(globalThis.ServiceWorkerContainer)put(ServiceWorkerContainer.prototype,'register',"
    "function register(){refuse('ServiceWorker');"
    "return Promise.reject(new DOMException('not here','SecurityError'))});"
    /* the browser runs without notifications, and pages look whether there are any */
    "const deny=(f)=>{if(typeof f==='function')f('denied');return Promise.resolve('denied')};"
    "if(isSecureContext){put(globalThis,'Notification',class Notification extends EventTarget{"
    "constructor(){super();refuse('Notification');"
    "setTimeout(()=>this.dispatchEvent(new Event('error')),0)}close(){}"
    "static get permission(){return'denied'}"
    "static requestPermission(f){refuse('Notification');return deny(f)}});"
    "put(globalThis,'PushManager',class PushManager{getSubscription(){return Promise.resolve(null)}"
    "permissionState(){return deny()}subscribe(){refuse('Push');"
    "return Promise.reject(new DOMException('not here','NotAllowedError'))}})}"
    "if(globalThis.Geolocation)for(const n of['getCurrentPosition','watchPosition'])"
    "put(Geolocation.prototype,n,function(ok,no){refuse('Geolocation');"
    "if(typeof no==='function')setTimeout(()=>no({code:1,message:'denied'}),0);return 1});"
    "put(globalThis,'open',function open(){refuse('open');return null});"
    "put(globalThis,'print',function print(){refuse('print')});"
    "for(const[n,v]of[['alert',undefined],['confirm',false],['prompt',null]])"
    "put(globalThis,n,function(){refuse('dialog');return v});"
    "})()";

static const char script_read[] =
    "(()=>{'use strict';"
    "const get=(P,n)=>{const g=Object.getOwnPropertyDescriptor(P.prototype,n).get;"
    "return(o)=>Reflect.apply(g,o,[])};"
    "const type=get(Node,'nodeType'),first=get(Node,'firstChild'),next=get(Node,'nextSibling'),"
    "base=get(Node,'baseURI'),root=get(Document,'documentElement'),name=get(Element,'localName'),"
    "attributes=get(Element,'attributes'),count=get(NamedNodeMap,'length'),"
    "shadow=get(Element,'shadowRoot'),data=get(CharacterData,'data'),an=get(Attr,'name'),"
    "av=get(Attr,'value'),kids=(e)=>{const a=[];for(let c=first(e);c;c=next(c))a.push(c);return a},"
    "item=(m,i)=>Reflect.apply(NamedNodeMap.prototype.item,m,[i]),"
    "assigned=(s)=>Reflect.apply(HTMLSlotElement.prototype.assignedNodes,s,[]);"
    "const empty=new Set('area base br col embed hr img input link meta source track wbr'.split("
    "' ')),urls=new Set('href src action data poster cite formaction background'.split(' ')),"
    "gone=new Set('script noscript template base noframes noembed'.split(' ')),"
    "raw=new Set(['style']);"
    "const text=(s)=>s.replace(/[&<>]/g,(c)=>c==='&'?'&amp;':c==='<'?'&lt;':'&gt;');"
    "const quoted=(s)=>s.replace(/[&\"<]/g,(c)=>c==='&'?'&amp;':c==='<'?'&lt;':'&quot;');"
    "const here=base(document);const out=[];let left=MOST_TEXT,cut=0,less=0;"
    "const say=(s)=>{if(left<s.length){cut=1;return false}left-=s.length;out.push(s);return true};"
    "const resolve=(n,v)=>{if(!urls.has(n)||v[0]==='#')return v;"
    "try{return new URL(v,here).href}catch(e){return v}};"
    "const open=(e,n)=>{let s='<'+n;const m=attributes(e),k=count(m);"
    "for(let i=0;i<k&&i<MOST_ATTRIBUTES;i++){const a=item(m,i),x=an(a);"
    "if(x.length>MOST_VALUE||av(a).length>MOST_VALUE){less=1;continue}"
    "if(!/^on|^(srcdoc|nonce|integrity)$|[^a-zA-Z0-9_:.-]/.test(x))"
    "s+=' '+x+'=\"'+quoted(resolve(x,av(a)))+'\"'}if(k>MOST_ATTRIBUTES)less=1;return s+'>'};"
    /* what is no link, picture or name that anybody reads may be longer than the document */
    "const MOST_ATTRIBUTES=1000,MOST_VALUE=65536;"
    "const keeps=(e)=>{const m=attributes(e),k=count(m);for(let i=0;i<k;i++){const a=item(m,i);"
    "if(an(a)==='type'&&/json/.test(av(a)))return true}return false};"
    "const html=root(document);dispatchEvent(new Event('" RENDER_QUESTION "'));"
    "let told=html?Reflect.apply(Element.prototype.getAttribute,html,['" RENDER_QUESTION "']):null;"
    "if(html)Reflect.apply(Element.prototype.removeAttribute,html,['" RENDER_QUESTION "']);"
    "told=/^[a-zA-Z,]{1,2000}$/.test(told)?told:'-';"
    /* a stack, not recursion: a document may be as deep as its page likes */
    "const stack=[html];const MOST_NODES=2000000;let nodes=0;"
    "while(stack.length>0&&!cut){const e=stack.pop();"
    "if(typeof e==='string'){out.push(e);continue}if(!e)continue;"
    "if(++nodes>MOST_NODES){cut=1;break}"
    "const t=type(e);"
    "if(t===3){say(text(data(e)));continue}if(t!==1)continue;let n=name(e);"
    /* behind the one nothing would be read, and what is in them is no HTML */
    "if(n==='plaintext'||n==='xmp')n='pre';"
    "if(n.length>MOST_VALUE||!/^[a-z][a-z0-9._-]*$/i.test(n))continue;"
    "if(n==='script'&&keeps(e)){let s='';for(const c of kids(e))if(type(c)===3)s+=data(c);"
    "if(!/<\\/script|<!--/i.test(s))say('<script type=\"application/ld+json\">'+s+'</script>');"
    "continue}"
    "if(gone.has(n))continue;"
    "if(raw.has(n)){let s='';for(const c of kids(e))if(type(c)===3)s+=data(c);"
    "if(!/<\\/style/i.test(s))say(open(e,n)+s+'</'+n+'>');continue}"
    "if(!say(open(e,n)))break;if(empty.has(n))continue;"
    "stack.push('</'+n+'>');"
    "if(n==='iframe')continue;"
    "const r=shadow(e);let inside=r?kids(r):kids(e);"
    "if(n==='slot'&&e instanceof HTMLSlotElement){const a=assigned(e);if(a.length>0)inside=a}"
    "for(let i=inside.length-1;i>=0;i--)stack.push(inside[i])}"
    "while(stack.length>0){const e=stack.pop();if(typeof e==='string')out.push(e)}"
    "return Date.now()+' '+(cut||less)+' '+told+'\\n'+out.join('')})()";

static const char script_scroll[] =
    "(async()=>{'use strict';const html=document.documentElement;if(!html)return 0;"
    /* what watches whether it is in sight hears of it with a frame, on either side of it */
    "const frames=()=>new Promise((f)=>requestAnimationFrame(()=>requestAnimationFrame(f)));"
    "dispatchEvent(new Event('" RENDER_QUESTION "'));"
    "const told=Reflect.apply(Element.prototype.getAttribute,html,['" RENDER_QUESTION "']);"
    "Reflect.apply(Element.prototype.removeAttribute,html,['" RENDER_QUESTION "']);"
    "if(!/(^|,)scroll(,|$)/.test(told))return 0;"
    "await frames();"
    "const all=Reflect.apply(Document.prototype.getElementsByTagName,document,['*']);"
    "const most=Math.min(all.length,20000),list=[];let sum=1;"
    "for(let i=0;i<most;i++){const e=all[i];if(!(e.scrollHeight>e.clientHeight+8))continue;"
    "if(e===html||e===document.body||/auto|scroll/.test(getComputedStyle(e).overflowY))"
    "list.push(e)}"
    "for(const e of list){sum+=e.scrollHeight;e.scrollTop=e.scrollHeight;"
    "Reflect.apply(EventTarget.prototype.dispatchEvent,e,[new Event('scroll')])}"
    "if(list.length>0){document.dispatchEvent(new Event('scroll',{bubbles:true}))}"
    "await frames();return sum})()";

/* Appends a script with a number in place of each such word. */
static Result script_append(Buffer *out, const char *script, const char *word, int64_t number)
{
    size_t length = strlen(word);
    for (;;) {
        const char *found = strstr(script, word);
        if (found == NULL) {
            return buffer_append_string(out, script);
        }
        Result rc = buffer_append(out, script, (size_t)(found - script));
        if (rc == RESULT_OK) {
            rc = buffer_printf(out, "(%" PRId64 ")", number);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        script = found + length;
    }
}

Result render_script_start(Buffer *out, int64_t offset_ms)
{
    return script_append(out, script_start, "OFFSET", offset_ms);
}

Result render_script_read(Buffer *out, size_t most_characters)
{
    return script_append(out, script_read, "MOST_TEXT", (int64_t)most_characters);
}

Result render_script_scroll(Buffer *out)
{
    return buffer_append_string(out, script_scroll);
}
