var J_=Object.defineProperty;var bs=(t,e)=>{for(var r in e)J_(t,r,{get:e[r],enumerable:!0})};var y=class extends Error{name="UserError";exitCode=1},ko=class extends y{name="UsageError";exitCode=2},X=class extends y{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Fe=class extends ko{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},D=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},yr=class extends y{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to continue`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function b(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function B(t,e){let r=t.get(e);return b(r!==void 0,`there is no ${e}`),r}function vs(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}var Ss=2,Qk={format:"pt",format_version:String(Ss)},lu="wpe.",X_="address_embed.";function ks(t,e){let r=Number(t??1);if(!(Number.isInteger(r)&&r>=1&&r<=Ss))throw new y(`Cannot read ${e}: found format version ${t}, expected 1 to ${Ss}; use the version of the program that wrote it`)}function fu(t,e,r){if(ks(e,r),Number(e??1)>1)return new Map(t);let o=n=>n.startsWith(lu)?X_+n.slice(lu.length):n;return new Map([...t].map(([n,s])=>[o(n),s]))}var T={};bs(T,{BIGINT_FORMAT_RANGES:()=>zo,CONSTANT_CATCH:()=>vu,Class:()=>Ts,NUMBER_FORMAT_RANGES:()=>kr,aborted:()=>xe,allowsEval:()=>Ms,assert:()=>nw,assertEqual:()=>Q_,assertIs:()=>rw,assertNever:()=>ow,assertNotEqual:()=>ew,assignProp:()=>ke,attachSchema:()=>Er,base64ToUint8Array:()=>yu,base64urlToUint8Array:()=>Sw,cached:()=>br,captureStackTrace:()=>Ao,cleanEnum:()=>vw,cleanRegex:()=>vr,clone:()=>Me,cloneDef:()=>aw,codePointLength:()=>Ar,constantCatch:()=>Su,createTransparentProxy:()=>pw,defineLazy:()=>pu,defineLazyInternal:()=>C,derived:()=>Tw,esc:()=>Os,escapeRegex:()=>tt,explicitlyAborted:()=>Ns,extend:()=>gw,finalizeIssue:()=>Re,floatSafeRemainder:()=>$s,getElementAtPath:()=>uw,getEnumValues:()=>jt,getLengthableOrigin:()=>Tr,getParsedType:()=>dw,getSizableOrigin:()=>xu,hexToUint8Array:()=>Ew,hide:()=>Po,installLazyProp:()=>Pw,isObject:()=>qt,isPlainObject:()=>lt,issue:()=>Ht,joinValues:()=>Eo,jsonStringifyReplacer:()=>Ft,members:()=>Cs,merge:()=>ww,mergeDefs:()=>et,normalizeParams:()=>E,nullish:()=>zs,numKeys:()=>fw,objectClone:()=>sw,omit:()=>hw,optionalKeys:()=>Rs,own:()=>ct,parsedType:()=>Ls,partial:()=>xw,pick:()=>mw,prefixIssues:()=>Ie,primitiveTypes:()=>_u,promiseAllObject:()=>cw,propertyKeyTypes:()=>Is,randomString:()=>lw,rawShape:()=>Sr,required:()=>yw,safeExtend:()=>_w,shallowClone:()=>gu,sizeCaps:()=>Oo,slugify:()=>Ps,stringifyPrimitive:()=>To,toZod:()=>tw,uint8ArrayToBase64:()=>bu,uint8ArrayToBase64url:()=>kw,uint8ArrayToHex:()=>Aw,unwrapMessage:()=>Ut});function Q_(t){return t}function ew(t){return t}function tw(){return t=>t}function rw(t){}function ow(t){throw new Error("Unexpected value in exhaustive check")}function nw(t){}function jt(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function Eo(t,e="|"){return t.map(r=>To(r)).join(e)}function Ft(t,e){return typeof e=="bigint"?e.toString():e}var As=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function br(t){return new As(t)}function zs(t){return t==null}function vr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function $s(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var du=Symbol("evaluating");function pu(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==du)return o===void 0&&(o=du,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function sw(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function ke(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function Sr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function Qe(t){return Sr(t._zod.def)??t._zod.def.shape}function mu(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return ke(this,e,o),o},enumerable:!0,configurable:!0})}function hu(t,e,r){e in t?ke(t,e,r):t[e]=r}function yt(t,e,r,o){let n=Qe(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?mu(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):hu(t,s,o?o(i.value,s):i.value))}}function iw(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?mu(t,r,()=>e[r]):hu(t,r,o.value))}}function et(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function aw(t){return et(t._zod.def)}function uw(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function cw(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function lw(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Os(t){return JSON.stringify(t)}function Ps(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var Ao="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function qt(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Ms=br(()=>{if(pe.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function lt(t){if(qt(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(qt(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function gu(t){return lt(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function fw(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var dw=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},Is=new Set(["string","number","symbol"]),_u=new Set(["string","number","bigint","boolean","symbol","undefined"]);function tt(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Me(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function E(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function pw(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function To(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function Rs(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var kr={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},zo={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function mw(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return yt(s,t,$o(t,e)),Me(t,et(r,{shape:s,checks:[]}))}function $o(t,e){let r=Qe(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function hw(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set($o(t,e)),i={};return yt(i,t,Reflect.ownKeys(Qe(t)).filter(a=>!s.has(a))),Me(t,et(r,{shape:i,checks:[]}))}function gw(t,e){if(!lt(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=Qe(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return Me(t,et(t._zod.def,{shape:wu(t,e)}))}function wu(t,e){let r={};return yt(r,t,Reflect.ownKeys(Qe(t))),iw(r,e),r}function _w(t,e){if(!lt(e))throw new Error("Invalid input to safeExtend: expected a plain object");return Me(t,et(t._zod.def,{shape:wu(t,e)}))}function ww(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};yt(r,t,Reflect.ownKeys(Qe(t))),yt(r,e,Reflect.ownKeys(Qe(e)));let o=et(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return Me(t,o)}function xw(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set($o(e,r)):void 0,u={};return yt(u,e,Reflect.ownKeys(Qe(e)),t&&((c,l)=>a&&!a.has(l)?c:new t({type:"optional",innerType:c}))),Me(e,et(e._zod.def,{shape:u,checks:[]}))}function yw(t,e,r){let o=r?new Set($o(e,r)):void 0,n={};return yt(n,e,Reflect.ownKeys(Qe(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),Me(e,et(e._zod.def,{shape:n}))}function xe(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Ns(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Ie(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function Ut(t){return typeof t=="string"?t:t?.message}function Oo(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function Er(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Re(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:Ut(t.inst?._zod.def?.error?.(t))??Ut(s?.(t))??Ut(e?.error?.(t))??Ut(r.customError?.(t))??Ut(r.localeError?.(t))??"Invalid input",a={};for(let u of Object.keys(t))u==="inst"||u==="schema"||u==="continue"||u==="input"||u==="__proto__"||(a[u]=t[u]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function xu(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var bw=/[\uD800-\uDBFF]/;function Ar(t){let e=t.length;if(!bw.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function Tr(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Ls(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Ht(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function vw(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function yu(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function bu(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function Sw(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return yu(e+r)}function kw(t){return bu(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function Ew(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function Aw(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var Ts=class{constructor(...e){}};function Cs(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):zw(t,r,o.value)}}function ct(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function Po(t,e,r){return ct(t,e,r,!1)}function Tw(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return ct(this,r,o(this))},set(n){ct(this,r,n)}})}return e}function zw(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:ct(this,e,r.bind(this))},set(o){ct(this,e,o)}})}function $w(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var Es,ut=!1,Ow={configurable:!0,get(){ut=!0}};function C(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&Es!==t._zod){Es=void 0;return}Es=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,Ow);let n=ut;ut=!1;try{let s=r(this);return ut?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),ut=ut||n,s}catch(s){throw delete this[e],ut=ut||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function Pw(t,e,r,o){let n=$w(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var vu="~constantCatch";function Su(t){let e=()=>t;return e[vu]=!0,e}var ku;var Ds={value:void 0,enumerable:!1},Eu="captureStackTrace"in Error?Error:null;function Mw(t){let e=Eu;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return Eu=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function _(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function u(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Ds.value=new s(p);try{Object.defineProperty(d,"_zod",Ds)}finally{Ds.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let g=Object.getPrototypeOf(d),h=d._zod.constr.prototype,w=g;for(;w&&w!==h;)w=Object.getPrototypeOf(w);let x=w??g;a.has(x)||(a.add(x),Cs(x,i))}let m=f.prototype;for(let g in m)Object.prototype.hasOwnProperty.call(m,g)&&(g in d||(d[g]=m[g].bind(d)))}let c=o?.Parent??Object;class l extends c{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?Mw(l):this;u(p,d);let m=p._zod.deferred;if(m){for(let h of m)h();p._zod.deferred=void 0}let g=globalThis.__zod_globalConfig?.postProcessor;return g&&g(p),p}return Object.defineProperty(f,"init",{value:u}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Ne=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},Kt=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(ku=globalThis).__zod_globalConfig??(ku.__zod_globalConfig={});var pe=globalThis.__zod_globalConfig;function ye(t){return t&&Object.assign(pe,t),pe}function Iw(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Ft,2)),t.message}function Rw(t){this._zod.message=t}var Nw={get:Iw,set:Rw,enumerable:!0,configurable:!0},Zs={value:void 0,enumerable:!1},Au=new WeakSet([Object.prototype,Error.prototype]),Tu=(t,e)=>{t.name="$ZodError",Zs.value=e,Object.defineProperty(t,"issues",Zs),Zs.value=void 0,Object.defineProperty(t,"message",Nw);let r=Object.getPrototypeOf(t);Au.has(r)||(Au.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},zu=_("$ZodError",Tu),nE=_("$ZodError",Tu,void 0,{Parent:Error});function Lw(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function $u(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?Lw(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function Ou(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let u=r,c=0;for(;c<a.length;){let l=a[c],f=c===a.length-1;if(l==="_errors"){f&&u._errors.push(e(i)),c++;continue}Object.prototype.hasOwnProperty.call(u,l)||Object.defineProperty(u,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=u[l];f&&d._errors.push(e(i)),u=d,c++}}}};return o(t),r}function Mo(t,e){return{callee:e?.callee??t,Err:e?.Err}}var Io=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Ne;if(a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Re(c,i,ye())));throw Ao(u,s?.callee??e),u}return a.value};return e};var Ro=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Re(c,i,ye())));throw Ao(u,s?.callee??e),u}return a.value};return e};var No=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Ne;return s.issues.length?Pu(t,s.issues,n):{success:!0,data:s.value}};function Pu(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Re(n,r,ye()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Lo=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?Pu(t,s.issues,n):{success:!0,data:s.value}};var Cw=Symbol.for("zod.compile.invalid"),Dw=Symbol.for("zod.compile.fallback"),Us=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==Cw)return!0;if(o.definite===!0&&r===void 0)return!1}return Bw(t,e,r)};function Bw(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[Dw]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Ne;return s.issues.length===0}var qs=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},Mu=t=>{let e=Io(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Mo(r,i))};return r};var Iu=t=>{let e=Io(t),r=(o,n,s,i)=>e(o,n,s,Mo(r,i));return r};var Ru=t=>{let e=Ro(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Mo(r,i))};return r};var Nu=t=>{let e=Ro(t),r=async(o,n,s,i)=>await e(o,n,s,Mo(r,i));return r};var Lu=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return No(t)(e,r,n)};var Cu=t=>(e,r,o)=>No(t)(e,r,o);var Du=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Lo(t)(e,r,n)};var Bu=t=>async(e,r,o)=>Lo(t)(e,r,o);var Zu=/^[cC][0-9a-z]{6,}$/,Uu=/^[0-9a-z]+$/,qu=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,ju=/^[0-9a-vA-V]{20}$/,Fu=/^[A-Za-z0-9]{27}$/,Hu=/^[a-zA-Z0-9_-]{21}$/;function Ku(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Gu=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var Vu=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,Fs=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Wu=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var Zw="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Yu(){return new RegExp(Zw,"u")}var Ju=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,Xu=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var Qu=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,ec=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,tc=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,rc=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var oc=/^https?$/,nc=/^\+[1-9]\d{6,14}$/;var sc="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function Uw(t){return new RegExp(`^${t}$`)}var ic=Uw(sc);function js(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function ac(t){return new RegExp(`^${js(t)}$`)}function uc(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${js({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${js({precision:t.precision})}`:r;return new RegExp(`^${sc}T(?:${o})$`)}var cc=/^[\s\S]{0,}$/;var lc=/^-?\d+n?$/,Hs=/^-?\d+$/,zr=/^-?\d+(?:\.\d+)?$/,fc=/^(?:true|false)$/i;var dc=/^[^A-Z]*$/,pc=/^[^a-z]*$/;var se=_("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var Ks=t=>{let e=t.value;return!zs(e)&&e.length!==void 0},Co={number:"number",bigint:"bigint",object:"date"},Gs=_("$ZodCheckLessThan",(t,e)=>{se.init(t,e);let r=Co[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:Co[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),Vs=_("$ZodCheckGreaterThan",(t,e)=>{se.init(t,e);let r=Co[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:Co[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),mc=_("$ZodCheckMultipleOf",(t,e)=>{se.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):$s(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),hc=_("$ZodCheckNumberFormat",(t,e)=>{se.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=kr[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var gc=_("$ZodCheckMaxLength",(t,e)=>{var r;se.init(t,e),(r=t._zod.def).when??(r.when=Ks),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?Ar(n):s)<=e.maximum)return;let a=Tr(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),_c=_("$ZodCheckMinLength",(t,e)=>{var r;se.init(t,e),(r=t._zod.def).when??(r.when=Ks),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?Ar(n):s)>=e.minimum)return;let a=Tr(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),wc=_("$ZodCheckLengthEquals",(t,e)=>{var r;se.init(t,e),(r=t._zod.def).when??(r.when=Ks),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?Ar(n):s;if(i===e.length)return;let a=Tr(n),u=i>e.length;o.issues.push({origin:a,...u?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Or=_("$ZodCheckStringFormat",(t,e)=>{var r,o;se.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),xc=_("$ZodCheckRegex",(t,e)=>{Or.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),yc=_("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=dc),Or.init(t,e)}),bc=_("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=pc),Or.init(t,e)}),vc=_("$ZodCheckIncludes",(t,e)=>{se.init(t,e);let r=tt(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),Sc=_("$ZodCheckStartsWith",(t,e)=>{se.init(t,e);let r=new RegExp(`^${tt(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),kc=_("$ZodCheckEndsWith",(t,e)=>{se.init(t,e);let r=new RegExp(`.*${tt(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var Ec=_("$ZodCheckOverwrite",(t,e)=>{se.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var Do=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var Tc={major:4,minor:6,patch:7};var U=_("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=Tc;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,u,c)=>{if(a.memo)return a;let l=xe(a),f;for(let d of u){if(d._zod.def.when){if(Ns(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,m=d._zod.check(a);if(m instanceof Promise&&c?.async===!1)throw new Ne;if(f||m instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await m,a.issues.length!==p&&(Er(a.issues,p,t),l||(l=xe(a,p)))});else{if(a.issues.length===p)continue;Er(a.issues,p,t),l||(l=xe(a,p))}}return f?f.then(()=>a):a},i=(a,u,c)=>{if(xe(a))return a.aborted=!0,a;let l=s(u,n,c);if(l instanceof Promise){if(c.async===!1)throw new Ne;return l.then(f=>t._zod.parse(f,c))}return t._zod.parse(l,c)};t._zod.run=(a,u)=>{if(u.skipChecks)return t._zod.parse(a,u);if(u.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...u,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,u)):i(l,a,u)}let c=t._zod.parse(a,u);if(c instanceof Promise){if(u.async===!1)throw new Ne;return c.then(l=>s(l,n,u))}return s(c,n,u)}}},{get"~standard"(){return Po(this,"~standard",Ys(this))},set"~standard"(t){ct(this,"~standard",t)}}),Uc=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Re(r,e,ye()))}:{value:t.value};async function qw(t,e){let r={async:!0};return Uc(await t._zod.run({value:e,issues:[]},r),r)}function Ys(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return Uc(o,r)}catch{}return qw(t,e)},vendor:"zod",version:1}}var qo=_("$ZodString",(t,e)=>{U.init(t,e),t._zod.pattern=e.pattern??cc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),F=_("$ZodStringFormat",(t,e)=>{Or.init(t,e),qo.init(t,e)}),qc=_("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=Vu),F.init(t,e)}),jc=_("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=Fs(o))}else e.pattern??(e.pattern=Fs());F.init(t,e)}),Fc=_("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Wu),F.init(t,e)}),Hc=1,Zo=2;function Kc(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function jw(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?Kc(t)||Zo:Fw(t,e)}function Fw(t,e){if(!e.normalize&&e.protocol?.source===oc.source&&!/^https?:\/\//i.test(t))return Hc;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??Zo}return new URL(t)}catch{return Zo}}var Hw=/[\t\n\r]/g;function zc(t){return t.replace(Hw,"")}function Kw(t,e){return e.lastIndex=0,e.test(t.hostname)}function Gw(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Gc=_("$ZodURL",(t,e)=>{F.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=jw(o,e);if(n===Hc){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===Zo){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=zc(o);return}e.hostname&&!Kw(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!Gw(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:zc(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),Vc=_("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Yu()),F.init(t,e)}),Wc=_("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?Hu:Ku(e.length)),F.init(t,e)}),Yc=_("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Zu),F.init(t,e)}),Jc=_("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=Uu),F.init(t,e)}),Xc=_("$ZodULID",(t,e)=>{e.pattern??(e.pattern=qu),F.init(t,e)}),Qc=_("$ZodXID",(t,e)=>{e.pattern??(e.pattern=ju),F.init(t,e)}),el=_("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=Fu),F.init(t,e)}),tl=_("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=uc(e)),F.init(t,e)}),rl=_("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=ic),F.init(t,e)}),ol=_("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=ac(e)),F.init(t,e)}),nl=_("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Gu),F.init(t,e)}),sl=_("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=Ju),F.init(t,e)}),Vw=/^[0-9a-fA-F:.]+$/;function il(t){return Vw.test(t)?Kc(`http://[${t}]`):!1}var al=_("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=Xu),F.init(t,e),t._zod.check=r=>{il(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var ul=_("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=Qu),F.init(t,e)});function Ww(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:il(r)}var cl=_("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=ec),F.init(t,e),t._zod.check=r=>{Ww(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function ll(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var Js=/^[0-9a-zA-Z+/]*={0,2}$/,fl=_("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=Js),F.init(t,e),t._zod.check=r=>{ll(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),jo=/^[A-Za-z0-9_-]*$/;function Yw(t){if(!jo.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return ll(r)}var dl=_("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=jo),F.init(t,e),t._zod.check=r=>{Yw(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),pl=_("$ZodE164",(t,e)=>{e.pattern??(e.pattern=nc),F.init(t,e)});function Jw(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var ml=_("$ZodJWT",(t,e)=>{F.init(t,e),t._zod.check=r=>{Jw(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var Xs=_("$ZodNumber",(t,e)=>{U.init(t,e),t._zod.pattern=zr,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),hl=_("$ZodNumberFormat",(t,e)=>{hc.init(t,e),Xs.init(t,e)}),gl=_("$ZodBoolean",(t,e)=>{U.init(t,e),t._zod.pattern=fc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),_l=_("$ZodBigInt",(t,e)=>{U.init(t,e),t._zod.pattern=lc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var wl=_("$ZodUnknown",(t,e)=>{U.init(t,e),t._zod.parse=r=>r}),xl=_("$ZodNever",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var yl=_("$ZodDate",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function Xw(t,e){let r=Oo(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[u,c]of Oo(t._zod.def.checks))if(a>u&&c._zod.def.when(s)){let l=s.issues.length;return c._zod.check(s),s.issues[l].continue=!1,Er(s.issues,l,t),s}}return n(s,i)}}var Qw=t=>Array.isArray(t)?t.length:-1;function $c(t,e,r){t.issues.length&&e.issues.push(...Ie(r,t.issues)),e.value[r]=t.value}var bl=_("$ZodArray",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let u=0;u<s.length;u++){let c=s[u],l=e.element._zod.run({value:c,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>$c(f,o,u)));else if($c(l,o,u),a&&l.issues.length!==0&&xe(l))break}return i.length?Promise.all(i).then(()=>o):o},Xw(t,Qw)});function Uo(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Ie(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var ex=[];function vl(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:ex,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=Rs(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function Sl(t,e,r,o,n,s,i){let a=[],u=n.keySet,c=n.catchall._zod,l=c.def.type,f=c.optin,d=c.optout,p=0;for(let m in e){if(i&&r.issues.length!==p){if(xe(r,p))break;p=r.issues.length}if(u.has(m))continue;if(m==="__proto__"){l==="never"&&a.push(m);continue}if(l==="never"){a.push(m);continue}let g=c.run({value:e[m],issues:[]},o);g instanceof Promise?t.push(g.then(h=>Uo(h,r,m,e,f,d))):Uo(g,r,m,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var tx=_("$ZodObject",(t,e)=>{U.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let c=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),c.raw=l,l};c.raw=o,Object.defineProperty(e,"shape",{get:c})}let n=br(()=>vl(e));C(t,"propValues",c=>{let l=c.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||ke(f,d,new Set);for(let m of p.values)f[d].add(m);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=qt,i=e.catchall,a,u=pe.memoizer;u?.attach(t),t._zod.parse=(c,l)=>{a??(a=n.value);let f=c.value;if(!s(f))return c.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),c;c.value=u?u.alloc(t,c,{},l):{};let d=[],p=a.shape,m=l?.abortEarly,g=c.issues.length;for(let h of a.allKeys){if(m&&c.issues.length!==g){if(xe(c,g))break;g=c.issues.length}if(h==="__proto__")continue;let w=p[h],x=w._zod.optin,k=w._zod.optout,I=w._zod.run({value:f[h],issues:[]},l);I instanceof Promise?d.push(I.then(A=>Uo(A,c,h,f,x,k))):Uo(I,c,h,f,x,k)}return i?Sl(d,f,c,l,n.value,t,m===!0):d.length?Promise.all(d).then(()=>c):c}}),kl=_("$ZodObjectJIT",(t,e)=>{tx.init(t,e);let r=t._zod.parse,o=br(()=>vl(e)),n=pe.memoizer,s=p=>{let m=o.value,g=m.symbolKeys,h=new Do(["payload","ctx"],{shape:p,inst:t,memo:n,syms:g}),w=A=>`shape[${A}]._zod.run({ value: input[${A}], issues: [] }, ctx)`,x=(A,O)=>`
          let ${A}_ab = false;
          for (let i = 0; i < ${A}.issues.length; i++) {
            const iss = ${A}.issues[i];
            iss.path = iss.path ? [${O}, ...iss.path] : [${O}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${A}_ab = true;
          }
          if (${A}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;h.write("const input = payload.value;");let k=Object.create(null),I=0;for(let A of m.allKeys)k[A]=`key_${I++}`;h.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let A of m.allKeys){if(A==="__proto__")continue;let O=k[A],R=typeof A=="symbol"?`syms[${g.indexOf(A)}]`:Os(A),q=`${R} in input`,te=p[A],ge=te?._zod?.optin,xt=ge!==void 0,K=te?._zod?.optout==="optional";if(h.write(`const ${O} = ${w(R)};`),xt&&K){let je=ge==="optional"?`${O}_present`:`${O}.value !== undefined || ${O}_present`;h.write(`
        const ${O}_present = ${q};
        if (!${O}.issues.length || ${O}_present) {
          if (${O}.issues.length) {${x(O,R)}
          }

          if (${je}) {
            newResult[${R}] = ${O}.value;
          }
        }

      `)}else xt?(h.write(`
        if (${O}.issues.length) {${x(O,R)}
        }
      `),ge==="defaulted"?h.write(`newResult[${R}] = ${O}.value;`):h.write(`
        if (${O}.value !== undefined || ${q}) {
          newResult[${R}] = ${O}.value;
        }
      `)):h.write(`
        const ${O}_present = ${q};
        if (${O}.issues.length) {${x(O,R)}
        }
        if (!${O}_present && !${O}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${R}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${O}_present) {
          newResult[${R}] = ${O}.value;
        }

      `)}return h.write("payload.value = newResult;"),h.write("return payload;"),h.compile()},i,a=qt,u=!pe.jitless,l=u&&Ms.value,f=e.catchall,d;t._zod.parse=(p,m)=>{d??(d=o.value);let g=p.value;return a(g)?u&&l&&m?.async===!1&&m.jitless!==!0?(i||(i=s(e.shape)),p=i(p,m),f?Sl([],g,p,m,d,t,m?.abortEarly===!0):p):r(p,m):(p.issues.push({expected:"object",code:"invalid_type",input:g,inst:t}),p)}});function Oc(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!xe(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Re(i,o,ye())))}),e)}var El=_("$ZodUnion",(t,e)=>{U.init(t,e),C(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),C(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),C(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),C(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>vr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let u=a._zod.run({value:o.value,issues:[]},n);if(u instanceof Promise)i.push(u),s=!0;else{if(u.issues.length===0)return u;i.push(u)}}return s?Promise.all(i).then(a=>Oc(a,o,t,n)):Oc(i,o,t,n)}});var Al=_("$ZodIntersection",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([u,c])=>Pc(r,u,c)):Pc(r,s,i)}});function Ws(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(lt(t)&&lt(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=Ws(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=Ws(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function Pc(t,e,r){let o=new Map,n,s=new Map,i=(c,l)=>{let f;if(c.code==="unrecognized_keys"&&!c.path?.length)n??(n=c),f=c.keys;else if(c.code==="invalid_key"&&c.origin==="record"&&c.path?.length===1){let d=String(c.path[0]);s.has(d)||s.set(d,c),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let c of e.issues)i(c,"l")||t.issues.push(c);for(let c of r.issues)i(c,"r")||t.issues.push(c);let a=[...o].filter(([,c])=>c.l&&c.r).map(([c])=>c);if(a.length){let c=n?a.filter(l=>n.keys.includes(l)):[];c.length&&t.issues.push({...n,keys:c});for(let l of a)!c.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let u=Ws(e.value,r.value);if(!u.valid){if(xe(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(u.mergeErrorPath)}`)}return t.value=u.data,t}var Tl=_("$ZodTuple",(t,e)=>{U.init(t,e);let r=e.items,o=pe.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],u=Mc(r,"optin"),c=Mc(r,"optout");if(!e.rest){if(i.length<u)return n.issues.push({code:"too_small",minimum:u,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let m=r[p]._zod.run({value:i[p],issues:[]},s);m instanceof Promise?a.push(m.then(g=>{l[p]=g})):(l[p]=m,f&&!d&&m.issues.length&&(d=xe(m)))}if(e.rest&&!d){let p=r.length-1,m=i.slice(r.length),g=n.issues.length;for(let h of m){if(f&&n.issues.length!==g){if(xe(n,g))break;g=n.issues.length}p++;let w=e.rest._zod.run({value:h,issues:[]},s);w instanceof Promise?a.push(w.then(x=>Ic(x,n,p))):Ic(w,n,p)}}return a.length?Promise.all(a).then(()=>Rc(l,n,r,i,c)):Rc(l,n,r,i,c)}});function Mc(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function Ic(t,e,r){t.issues.length&&e.issues.push(...Ie(r,t.issues)),e.value[r]=t.value}function Rc(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Ie(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var zl=_("$ZodRecord",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!lt(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let u=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(u.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(m=>Re(m,n,ye())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Ie(l,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Ie(l,p.issues)),o.value[d]=p.value)}let c;for(let l in s)if(!u.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else c=c??[],c.push(l);c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let u;for(let c of Reflect.ownKeys(s)){if(c==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,c))continue;let l=e.keyType._zod.run({value:c,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof c=="string"&&zr.test(c)&&l.issues.length){let m=e.keyType._zod.run({value:Number(c),issues:[]},n);if(m instanceof Promise)throw new Error("Async schemas not supported in object keys currently");m.issues.length===0&&(l=m)}if(l.issues.length){e.mode==="loose"?o.value[c]=s[c]:a?(u=u??[],u.push(c)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(m=>Re(m,n,ye())),input:c,path:[c],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[c],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Ie(c,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Ie(c,p.issues)),o.value[d]=p.value)}u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var $l=_("$ZodEnum",(t,e)=>{U.init(t,e);let r=jt(e.entries),o=new Set(r);t._zod.values=o,C(t,"pattern",n=>{let s=jt(n.def.entries).filter(i=>Is.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>tt(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),Ol=_("$ZodLiteral",(t,e)=>{U.init(t,e);let r=new Set(e.values);t._zod.values=r,C(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?tt(s):s?tt(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var Pl=_("$ZodTransform",(t,e)=>{U.init(t,e),t._zod.optin="optional",pe.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Kt(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Ne;return r.value=n,r}});function Nc(t,e){return t.value=e.issues.length?void 0:e.value,t}var Qs=_("$ZodOptional",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${vr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Nc(r,s)):Nc(r,n)}return e.innerType._zod.run(r,o)}}),Ml=_("$ZodExactOptional",(t,e)=>{Qs.init(t,e),C(t,"values",r=>r.def.innerType._zod.values),C(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),Il=_("$ZodNullable",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${vr(o.source)}|null)$`):void 0}),C(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),Rl=_("$ZodDefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Lc(s,e)):Lc(n,e)}});function Lc(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var Nl=_("$ZodPrefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),Ll=_("$ZodNonOptional",(t,e)=>{U.init(t,e),C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Cc(s,t)):Cc(n,t)}});function Cc(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function Dc(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Re(n,o,ye()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var Cl=_("$ZodCatch",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Dc(r,s,e,o)):Dc(r,n,e,o)}});var Dl=_("$ZodPipe",(t,e)=>{U.init(t,e),C(t,"values",r=>r.def.in._zod.values),C(t,"optin",r=>r.def.in._zod.optin),C(t,"optout",r=>r.def.out._zod.optout),C(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Bo(i,e.in,o)):Bo(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Bo(s,e.out,o)):Bo(n,e.out,o)}});function Bo(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Bl=_("$ZodReadonly",(t,e)=>{U.init(t,e),C(t,"propValues",r=>r.def.innerType._zod.propValues),C(t,"values",r=>r.def.innerType._zod.values),C(t,"optin",r=>r.def.innerType?._zod?.optin),C(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Bc):Bc(n)}});function Bc(t){return t.memo||(t.value=Object.freeze(t.value)),t}var Zl=_("$ZodCustom",(t,e)=>{se.init(t,e),U.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>Zc(s,r,o,t));Zc(n,r,o,t)}});function Zc(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Ht(n))}}var ti=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},ri="~memo",Ul=[];function ql(t){return t!==null&&typeof t=="object"}function ei(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var jl=new WeakMap,Pr=0,Ko=1,Mr=2;function Go(t,e,r){let o=jl.get(t);if(o!==void 0)return o?Mr:Pr;if(e.has(t))return Mr;e.add(t);let n=Pr,s=l=>{if(n!==Mr&&l?._zod){let f=Go(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Pr;for(let p of Reflect.ownKeys(l)){let m=Object.getOwnPropertyDescriptor(l,p);if(f&&!m.enumerable)continue;let g=m.get?Ko:m.value?._zod?Go(m.value,e,r):Pr;g>d&&(d=g)}return d},a=l=>{l>n&&(n=l)},u=t._zod.def,c=u.type;switch(c){case"object":{let l=Sr(u);a(l?i(l,!0):Ko),s(u.catchall);break}case"array":s(u.element);break;case"tuple":for(let l of u.items)s(l);s(u.rest);break;case"record":case"map":s(u.keyType),s(u.valueType);break;case"set":s(u.valueType);break;case"union":for(let l of u.options)s(l);break;case"intersection":s(u.left),s(u.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(u.innerType);break;case"pipe":s(u.in),s(u.out);break;case"function":s(u.input),s(u.output);break;case"lazy":{let l=u._cachedInner??(r?t._zod.innerType:void 0);a(l?Go(l,e,!1):Ko);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in u){let f=Object.getOwnPropertyDescriptor(u,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),rx(t,n)}function rx(t,e){return e!==Ko&&jl.set(t,e===Mr),e}function ox(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var Fo,Ho=[],nx={alloc(t,e,r){let o=Fo;if(!o)return r;Fo=void 0;let n={value:r,issues:null};return o.set(e.value,n),Ho.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&sx(s,n.value))throw new ti;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(u,c)=>{if(r===void 0){let w=Go(t,new Set,!1);if(w===Pr)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(u,c);w===Mr||o?r=!0:o=!0}let l=u.value;if(!ql(l))return i(u,c);let f=c[ri];f||(f={buckets:new WeakMap,backEdges:void 0},c[ri]=f);let d;n===c?d=s:(d=ox(f,t),n=c,s=d);let p=d.get(l);if(p)return u.value=p.value,p.issues?p.issues.length&&u.issues.push(...ei(p.issues)):(u.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),u;Fo=d;let m=Ho.length,g=i(u,c);Fo=void 0;let h=Ho.length>m?Ho.pop():void 0;return g instanceof Promise?g.then(w=>(h&&(h.issues=w.issues.length?ei(w.issues):Ul),w)):(h&&(h.issues=g.issues.length?ei(g.issues):Ul),g)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Fl(){return nx}function sx(t,e){let r=t[ri]?.backEdges;return r!==void 0&&ql(e)&&r.has(e)}var ix=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Ls(s.input),u=n(a,s.input);return`Invalid input: expected ${i}, received ${u}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${To(s.values[0])}`:`Invalid option: expected one of ${Eo(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${Eo(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function Hl(){return{localeError:ix()}}var Kl;var oi=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function ax(){return new oi}(Kl=globalThis).__zod_globalRegistry??(Kl.__zod_globalRegistry=ax());var bt=globalThis.__zod_globalRegistry;function Vo(t){return t.checks&&(t.checks=[...t.checks]),t}function Gl(t,e){return new t(Vo({type:"string",...E(e)}))}function Vl(t,e){return new t(Vo({type:"string",coerce:!0,...E(e)}))}function Wl(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...E(e)})}function Yl(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...E(e)})}function Jl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...E(e)})}function Xl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...E(e)})}function Ql(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...E(e)})}function ef(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...E(e)})}function tf(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...E(e)})}function rf(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...E(e)})}function of(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...E(e)})}function nf(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...E(e)})}function sf(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...E(e)})}function af(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...E(e)})}function uf(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...E(e)})}function cf(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...E(e)})}function lf(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...E(e)})}function ff(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...E(e)})}function df(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...E(e)})}function pf(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...E(e)})}function mf(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...E(e)})}function hf(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...E(e)})}function gf(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...E(e)})}function _f(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...E(e)})}function wf(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...E(e)})}function xf(t,e){return new t({type:"string",format:"date",check:"string_format",...E(e)})}function yf(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...E(e)})}function bf(t,e){return new t({type:"string",format:"duration",check:"string_format",...E(e)})}function vf(t,e){return new t(Vo({type:"number",checks:[],...E(e)}))}function Sf(t,e){return new t(Vo({type:"number",coerce:!0,checks:[],...E(e)}))}function kf(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...E(e)})}function Ef(t,e){return new t({type:"boolean",...E(e)})}function Af(t,e){return new t({type:"boolean",coerce:!0,...E(e)})}function Tf(t,e){return new t({type:"bigint",coerce:!0,...E(e)})}function zf(t){return new t({type:"unknown"})}function $f(t,e){return new t({type:"never",...E(e)})}function Of(t,e){return new t({type:"date",coerce:!0,...E(e)})}function Gt(t,e){return new Gs({check:"less_than",...E(e),value:t,inclusive:!1})}function rt(t,e){return new Gs({check:"less_than",...E(e),value:t,inclusive:!0})}function Vt(t,e){return new Vs({check:"greater_than",...E(e),value:t,inclusive:!1})}function ot(t,e){return new Vs({check:"greater_than",...E(e),value:t,inclusive:!0})}function Ir(t,e){return new mc({check:"multiple_of",...E(e),value:t})}function Wo(t,e){return new gc({check:"max_length",...E(e),maximum:t})}function Wt(t,e){return new _c({check:"min_length",...E(e),minimum:t})}function Yo(t,e){return new wc({check:"length_equals",...E(e),length:t})}function ni(t,e){return new xc({check:"string_format",format:"regex",...E(e),pattern:t})}function si(t){return new yc({check:"string_format",format:"lowercase",...E(t)})}function ii(t){return new bc({check:"string_format",format:"uppercase",...E(t)})}function ai(t,e){return new vc({check:"string_format",format:"includes",...E(e),includes:t})}function ui(t,e){return new Sc({check:"string_format",format:"starts_with",...E(e),prefix:t})}function ci(t,e){return new kc({check:"string_format",format:"ends_with",...E(e),suffix:t})}function ft(t){return new Ec({check:"overwrite",tx:t})}function li(t){return ft(e=>e.normalize(t))}function fi(){return ft(t=>t.trim())}function di(){return ft(t=>t.toLowerCase())}function pi(){return ft(t=>t.toUpperCase())}function mi(){return ft(t=>Ps(t))}function Pf(t,e,r){return new t({type:"array",element:e,...E(r)})}function Mf(t,e,r){return new t({type:"custom",check:"custom",fn:e,...E(r)})}function If(t,e){let r=ux(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Ht(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Ht(s))}},t(o.value,o)),e);return r}function ux(t,e){let r=new se({check:"custom",...E(e)});return r._zod.check=t,r}function Rr(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&ke(t,o,r[o]);return t}function gi(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??bt,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Le(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function V(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),V(f,e,l),e.seen.get(f).isParent=!0)}let u=e.metadataRegistry.get(t);return u&&Rr(i.schema,u),e.io==="input"&&me(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function Rf(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function _i(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let u=o.get(a);if(u&&u!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(m=>m);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${Rf(p)}`}}let u="#",c=`${u}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:u};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:c+Rf(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:u,defId:c}=n(i);a.def={...a.schema},c&&(a.defId=c);let l=a.schema;for(let f in l)delete l[f];l.$ref=u};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let c=t.external.registry.get(i[0])?.id;if(e!==i[0]&&c){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function Cf(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;Cf(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var Df=new Set(["type","properties","required","additionalProperties"]),Nf=["oneOf","anyOf"];function Lf(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function hi(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!Df.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let c of e){let l=c.properties?.[i]??Lf(c);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let u=a.length===1?a[0]:hi(a)??{allOf:a};ke(r,i,u)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=Lf(i);a&&!s.some(u=>JSON.stringify(u)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function cx(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of Df)if(n in t)return;let r=e.filter(n=>Nf.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=hi(e);else{let n=r[0],s=Nf.find(u=>Array.isArray(n[u]));if(Object.keys(n).length!==1)return;let i=e.filter(u=>u!==n),a=n[s].map(u=>hi([...i,u]));if(a.some(u=>!u))return;o={[s]:a}}o&&(delete t.allOf,Rr(t,o))}function wi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let u=t.seen.get(a);if(u.ref===null)return;let c=u.def??u.schema,l={...c},f=u.ref;if(u.ref=null,f){o(f);let p=t.seen.get(f),m=p.schema;if(m.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(c.allOf=c.allOf??[],c.allOf.push(m)):Rr(c,m),Rr(c,l),a._zod.parent===f)for(let h in c)h==="$ref"||h==="allOf"||h in l||delete c[h];if(m.$ref&&p.def)for(let h in c)h==="$ref"||h==="allOf"||h in p.def&&JSON.stringify(c[h])===JSON.stringify(p.def[h])&&delete c[h]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(c.$ref=p.schema.$ref,p.def))for(let m in c)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(c[m])===JSON.stringify(p.def[m])&&delete c[m]}t.override({zodSchema:a,jsonSchema:c,path:u.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())Cf(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let u of t.seen.values())for(let c of[u.schema,u.def]){let l=c?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(c):a.set(l,[c])}for(let u of t.intersections)for(let c of a.get(u)??[])cx(c)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Rr(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let u=a[1];u.def&&u.defId&&(u.def.id===u.defId&&delete u.def.id,ke(i,u.defId,u.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Nr(e,"input",t.processors),output:Nr(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function me(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return me(o.element,r);if(o.type==="set")return me(o.valueType,r);if(o.type==="lazy")return me(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return me(o.innerType,r);if(o.type==="intersection")return me(o.left,r)||me(o.right,r);if(o.type==="record"||o.type==="map")return me(o.keyType,r)||me(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:me(o.in,r)||me(o.out,r);if(o.type==="object"){for(let n in o.shape)if(me(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(me(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(me(n,r))return!0;return!!(o.rest&&me(o.rest,r))}return!1}var Bf=(t,e={})=>r=>{let o=gi({...r,processors:e});return V(t,o),_i(o,t),wi(o,t)},Nr=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=gi({...n??{},target:s,io:e,processors:r});return V(t,i),_i(i,t),wi(i,t)};var Yt=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},Jt=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Zf=(t,e)=>{Yt(t,"minimum",e),Jt(t,"maximum",e)},Ff=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},Hf=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},Kf=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Gf=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},Uf=(t,e)=>Yt(t,"minimum",e.minimum),qf=(t,e)=>Jt(t,"maximum",e.maximum),jf=t=>(e,r)=>{Gf(e,r.format);let[o,n]=t[r.format];Yt(e,"minimum",o),Jt(e,"maximum",n)},lx={greater_than:(t,e)=>Yt(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>Jt(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>Ff(t,e.value),number_format:jf(kr),bigint_format:jf(zo),min_length:Uf,max_length:qf,length_equals:(t,e)=>Zf(t,e.length),min_size:Uf,max_size:qf,size_equals:(t,e)=>Zf(t,e.size),string_format:(t,e)=>{Gf(t,e.format),e.pattern&&Hf(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>Kf(t,e.mime)};function re(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)lx[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&Yt(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&Yt(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&Jt(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&Jt(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&Ff(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&Kf(e,n.mime);for(let s of n.patterns??[])Hf(e,s);return e}var fx={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},dx=new Map([[Js,tc],[jo,rc]]),Vf=t=>dx.get(t)??t,Wf=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:u,contentEncoding:c,laxFormat:l}=re(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=fx[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),c&&(n.contentEncoding=c),u&&u.size>0){let f=[...u].map(Vf);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Yf=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:u,exclusiveMinimum:c,isInt:l}=re(t);n.type=l?"integer":"number";let f=typeof c=="number"&&c>=(s??Number.NEGATIVE_INFINITY),d=typeof u=="number"&&u<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=c,n.exclusiveMinimum=!0):n.exclusiveMinimum=c:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=u,n.exclusiveMaximum=!0):n.exclusiveMaximum=u:typeof i=="number"&&(n.maximum=i),a){let m=new Set;for(let w of a)Number.isFinite(w)&&w!==0?m.add(Math.abs(w)):Le(t,e,n,o,`A multipleOf divisor of ${w} cannot be represented in JSON Schema`);let[g,...h]=m;g!==void 0&&(n.multipleOf=g),h.length&&(n.allOf=[...n.allOf??[],...h.map(w=>({multipleOf:w}))])}},Jf=(t,e,r,o)=>{r.type="boolean"},Xf=(t,e,r,o)=>{Le(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var Qf=(t,e,r,o)=>{r.not={}};var ed=(t,e,r,o)=>{},td=(t,e,r,o)=>{Le(t,e,r,o,"Date cannot be represented in JSON Schema")},rd=(t,e,r,o)=>{let n=t._zod.def,s=jt(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},od=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Le(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Le(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var nd=(t,e,r,o)=>{Le(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var sd=(t,e,r,o)=>{Le(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var id=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=re(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=V(s.element,e,{...o,path:[...o.path,"items"]})};function Lr(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Lr(e.out):e.type==="catch"?Lr(e.innerType):t._zod.optin}var ad=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Le(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let c in i)ke(n.properties,c,V(i[c],e,{...o,path:[...o.path,"properties",c]}));let u=[];for(let c of Object.keys(i)){let l=s.shape[c];(e.io==="input"?Lr(l)===void 0:l._zod.optout===void 0)&&u.push(c)}u.length>0&&(n.required=u),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=V(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},ud=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,u)=>V(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",u]}));s?r.oneOf=i:r.anyOf=i},cd=(t,e,r,o)=>{let n=t._zod.def,s=V(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=V(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=c=>"allOf"in c&&Object.keys(c).length===1,u=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=u,e.intersections.push(u)},ld=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",u=s.items.map((g,h)=>V(g,e,{...o,path:[...o.path,i,h]})),c=s.rest?V(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let g=s.items[l-1];if(!(e.io==="input"?Lr(g)!==void 0:g._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=u,d?n.items=!1:c&&(n.items=c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:u},c&&n.items.anyOf.push(c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=u,d?n.additionalItems=!1:c&&(n.additionalItems=c),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:m}=re(t);typeof p=="number"&&(n.minItems=p),typeof m=="number"&&(n.maxItems=m)};function xi(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let m=t.get(e)?.def;if(!m)return e;let g=xi(t,m,r);return g===m?e:g}for(let m of["anyOf","oneOf"]){let g=e[m];if(!Array.isArray(g))continue;let h=g.map(w=>xi(t,w,r));h.some((w,x)=>w!==g[x])&&(e={...e,[m]:h})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(m=>m==="number"||m==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(m=>typeof m=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:u,exclusiveMaximum:c,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(m=>typeof m=="number"?String(m):m):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?zr:Hs).source)),p}var yi=new WeakMap;function px(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of yi.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=xi(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var fd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=re(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=V(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)ke(n.patternProperties,Vf(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=V(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=yi.get(e);l||(l=[],yi.set(e,l),e.deferred.push(()=>px(e))),l.push(t)}n.additionalProperties=V(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let u=i._zod.values,c=e.io==="input"&&Lr(s.valueType)!==void 0;if(u&&!s.partial&&!c){let l=[...u].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},dd=(t,e,r,o)=>{let n=t._zod.def,s=V(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},pd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},bi=Symbol();function md(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,u)=>typeof u!="bigint"?u:(s=!0,null));return s?(Le(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),bi):JSON.parse(i)}var hd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=md(n.defaultValue,t,e,r,o);i!==bi&&(r.default=i)},gd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=md(n.defaultValue,t,e,r,o);i!==bi&&(r._prefault=i)},_d=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Le(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},wd=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;V(i,e,o);let a=e.seen.get(t);a.ref=i},xd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var vi=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var yd=new WeakSet([Object.prototype,Error.prototype]);function Jo(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var bd=(t,e)=>{zu.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);yd.has(r)||(yd.add(r),Jo(r,"format",o=>n=>Ou(o,n)),Jo(r,"flatten",o=>n=>$u(o,n)),Jo(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Ft,2)}),Jo(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Ft,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},Xo=_("ZodError",bd),be=_("ZodError",bd,void 0,{Parent:Error});var vd=Io(be),Sd=Ro(be),kd=No(be),Ed=Lo(be),Ad=Mu(be),Td=Iu(be),zd=Ru(be),$d=Nu(be),Od=Lu(be),Pd=Cu(be),Md=Du(be),Id=Bu(be);function Sx(){pe.localeError||ye(Hl())}function Br(){pe.memoizer||ye({memoizer:Fl()})}var j=_("ZodType",(t,e)=>(Sx(),U.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(T.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return Me(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(fy(t,e))},superRefine(t,e){return this.check(dy(t,e))},overwrite(t){return this.check(ft(t))},optional(){return Nd(this)},exactOptional(){return ty(this)},nullable(){return Ld(this)},nullish(){return Nd(Ld(this))},nonoptional(t){return ny(this,t)},array(){return Y(this)},or(t){return Ti([this,t])},and(t){return Jx(this,t)},transform(t){return Cd(this,ey(t))},default(t){return ry(this,t)},prefault(t){return oy(this,t)},catch(t){return iy(this,t)},pipe(t){return Cd(this,t)},readonly(){return cy(this)},describe(t){let e=this.clone();return bt.add(e,{description:t}),e},meta(...t){if(t.length===0)return bt.get(this);let e=this.clone();return bt.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return T.hide(this,"~standard",{...Ys(this),jsonSchema:{input:Nr(this,"input"),output:Nr(this,"output")}})},set"~standard"(t){T.own(this,"~standard",t)},parse:function t(e,r){return vd(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await Sd(this,e,r,{callee:t})},safeParse(t,e){return kd(this,t,e)},async safeParseAsync(t,e){return Ed(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){T.own(this,"spa",t)},validate(t,e){return Us(this,t,e)},validateAsync(t,e){return qs(this,t,e)},encode:function t(e,r){return Ad(this,e,r,{callee:t})},decode:function t(e,r){return Td(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await zd(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await $d(this,e,r,{callee:t})},safeEncode(t,e){return Od(this,t,e)},safeDecode(t,e){return Pd(this,t,e)},async safeEncodeAsync(t,e){return Md(this,t,e)},async safeDecodeAsync(t,e){return Id(this,t,e)},toJSONSchema(t){return Bf(this,{})(t)},get description(){return bt.get(this)?.description},get _def(){return this._zod.def}}),Dd=_("_ZodString",(t,e)=>{qo.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Wf(t,r,o,n)},T.derived({format:t=>re(t).format??null,minLength:t=>re(t).minimum??null,maxLength:t=>re(t).maximum??null},{regex(...t){return this.check(ni(...t))},includes(...t){return this.check(ai(...t))},startsWith(...t){return this.check(ui(...t))},endsWith(...t){return this.check(ci(...t))},min(...t){return this.check(Wt(...t))},max(...t){return this.check(Wo(...t))},length(...t){return this.check(Yo(...t))},nonempty(...t){return this.check(Wt(1,...t))},lowercase(t){return this.check(si(t))},uppercase(t){return this.check(ii(t))},trim(){return this.check(fi())},normalize(...t){return this.check(li(...t))},toLowerCase(){return this.check(di())},toUpperCase(){return this.check(pi())},slugify(){return this.check(mi())}})),ki=_("ZodString",(t,e)=>{qo.init(t,e),Dd.init(t,e)},{email(t){return this.check(Wl(zx,t))},url(t){return this.check(tf(Ox,t))},jwt(t){return this.check(_f(Hx,t))},emoji(t){return this.check(rf(Px,t))},guid(t){return this.check(Yl($x,t))},uuid(t){return this.check(Jl(Qo,t))},uuidv4(t){return this.check(Xl(Qo,t))},uuidv6(t){return this.check(Ql(Qo,t))},uuidv7(t){return this.check(ef(Qo,t))},nanoid(t){return this.check(of(Mx,t))},cuid(t){return this.check(nf(Ix,t))},cuid2(t){return this.check(sf(Rx,t))},ulid(t){return this.check(af(Nx,t))},base64(t){return this.check(mf(qx,t))},base64url(t){return this.check(hf(jx,t))},xid(t){return this.check(uf(Lx,t))},ksuid(t){return this.check(cf(Cx,t))},ipv4(t){return this.check(lf(Dx,t))},ipv6(t){return this.check(ff(Bx,t))},cidrv4(t){return this.check(df(Zx,t))},cidrv6(t){return this.check(pf(Ux,t))},e164(t){return this.check(gf(Fx,t))},datetime(t){return this.check(wf(kx,t))},date(t){return this.check(xf(Ex,t))},time(t){return this.check(yf(Ax,t))},duration(t){return this.check(bf(Tx,t))}});function z(t){return Gl(ki,t)}var W=_("ZodStringFormat",(t,e)=>{F.init(t,e),Dd.init(t,e)}),kx=_("ZodISODateTime",(t,e)=>{tl.init(t,e),W.init(t,e)}),Ex=_("ZodISODate",(t,e)=>{rl.init(t,e),W.init(t,e)}),Ax=_("ZodISOTime",(t,e)=>{ol.init(t,e),W.init(t,e)}),Tx=_("ZodISODuration",(t,e)=>{nl.init(t,e),W.init(t,e)}),zx=_("ZodEmail",(t,e)=>{Fc.init(t,e),W.init(t,e)});var $x=_("ZodGUID",(t,e)=>{qc.init(t,e),W.init(t,e)});var Qo=_("ZodUUID",(t,e)=>{jc.init(t,e),W.init(t,e)});var Ox=_("ZodURL",(t,e)=>{Gc.init(t,e),W.init(t,e)});var Px=_("ZodEmoji",(t,e)=>{Vc.init(t,e),W.init(t,e)});var Mx=_("ZodNanoID",(t,e)=>{Wc.init(t,e),W.init(t,e)});var Ix=_("ZodCUID",(t,e)=>{Yc.init(t,e),W.init(t,e)});var Rx=_("ZodCUID2",(t,e)=>{Jc.init(t,e),W.init(t,e)});var Nx=_("ZodULID",(t,e)=>{Xc.init(t,e),W.init(t,e)});var Lx=_("ZodXID",(t,e)=>{Qc.init(t,e),W.init(t,e)});var Cx=_("ZodKSUID",(t,e)=>{el.init(t,e),W.init(t,e)});var Dx=_("ZodIPv4",(t,e)=>{sl.init(t,e),W.init(t,e)});var Bx=_("ZodIPv6",(t,e)=>{al.init(t,e),W.init(t,e)});var Zx=_("ZodCIDRv4",(t,e)=>{ul.init(t,e),W.init(t,e)});var Ux=_("ZodCIDRv6",(t,e)=>{cl.init(t,e),W.init(t,e)});var qx=_("ZodBase64",(t,e)=>{fl.init(t,e),W.init(t,e)});var jx=_("ZodBase64URL",(t,e)=>{dl.init(t,e),W.init(t,e)});var Fx=_("ZodE164",(t,e)=>{pl.init(t,e),W.init(t,e)});var Hx=_("ZodJWT",(t,e)=>{ml.init(t,e),W.init(t,e)});var en=_("ZodNumber",(t,e)=>{Xs.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Yf(t,r,o,n),t.isFinite=!0},T.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=re(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=re(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=re(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>re(t).format??null},{gt(t,e){return this.check(Vt(t,e))},gte(t,e){return this.check(ot(t,e))},min(t,e){return this.check(ot(t,e))},lt(t,e){return this.check(Gt(t,e))},lte(t,e){return this.check(rt(t,e))},max(t,e){return this.check(rt(t,e))},int(t){return this.check(M(t))},safe(t){return this.check(M(t))},positive(t){return this.check(Vt(0,t))},nonnegative(t){return this.check(ot(0,t))},negative(t){return this.check(Gt(0,t))},nonpositive(t){return this.check(rt(0,t))},multipleOf(t,e){return this.check(Ir(t,e))},step(t,e){return this.check(Ir(t,e))},finite(){return this}}));function v(t){return vf(en,t)}var Kx=_("ZodNumberFormat",(t,e)=>{hl.init(t,e),en.init(t,e)});function M(t){return kf(Kx,t)}var Ei=_("ZodBoolean",(t,e)=>{gl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Jf(t,r,o,n)});function vt(t){return Ef(Ei,t)}var Bd=_("ZodBigInt",(t,e)=>{_l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Xf(t,r,o,n)},T.derived({minValue:t=>re(t).minimum??null,maxValue:t=>re(t).maximum??null,format:t=>re(t).format??null},{gte(t,e){return this.check(ot(t,e))},min(t,e){return this.check(ot(t,e))},gt(t,e){return this.check(Vt(t,e))},lt(t,e){return this.check(Gt(t,e))},lte(t,e){return this.check(rt(t,e))},max(t,e){return this.check(rt(t,e))},positive(t){return this.check(Vt(BigInt(0),t))},negative(t){return this.check(Gt(BigInt(0),t))},nonpositive(t){return this.check(rt(BigInt(0),t))},nonnegative(t){return this.check(ot(BigInt(0),t))},multipleOf(t,e){return this.check(Ir(t,e))}}));var Gx=_("ZodUnknown",(t,e)=>{wl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ed(t,r,o,n)});function Dr(){return zf(Gx)}var Vx=_("ZodNever",(t,e)=>{xl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Qf(t,r,o,n)});function Zd(t){return $f(Vx,t)}var Ud=_("ZodDate",(t,e)=>{yl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>td(t,r,o,n),t.min=(r,o)=>t.check(ot(r,o)),t.max=(r,o)=>t.check(rt(r,o))},T.derived({minDate:t=>{let{minimum:e}=re(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=re(t);return e?new Date(e):null}},{}));var Wx=_("ZodArray",(t,e)=>{Br(),bl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>id(t,r,o,n),t.element=e.element},{min(t,e){return this.check(Wt(t,e))},nonempty(t){return this.check(Wt(1,t))},max(t,e){return this.check(Wo(t,e))},length(t,e){return this.check(Yo(t,e))},unwrap(){return this.element}});function Y(t,e){return Pf(Wx,t,e)}var Xt=_("ZodObject",(t,e)=>{Br(),kl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ad(t,r,o,n),T.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return He(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(T.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Dr()}))},loose(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Dr()}))},strict(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Zd()}))},strip(){return this.clone(T.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return T.extend(this,t)},safeExtend(t){return T.safeExtend(this,t)},merge(t){return T.merge(this,t)},pick(t){return T.pick(this,t)},omit(t){return T.omit(this,t)},partial(...t){return T.partial(Ur,this,t[0])},exactPartial(...t){return T.partial(Fd,this,t[0],"exactPartial")},required(...t){return T.required(Hd,this,t[0])}});function N(t,e){let r={type:"object",shape:t??{},...T.normalizeParams(e)};return new Xt(r)}function St(t,e){return new Xt({type:"object",shape:t,catchall:Zd(),...T.normalizeParams(e)})}function qd(t,e){return new Xt({type:"object",shape:t,catchall:Dr(),...T.normalizeParams(e)})}var Ai=_("ZodUnion",(t,e)=>{El.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ud(t,r,o,n),t.options=e.options});function Ti(t,e){return new Ai({type:"union",options:t,...T.normalizeParams(e)})}var Yx=_("ZodIntersection",(t,e)=>{Al.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>cd(t,r,o,n)});function Jx(t,e){return new Yx({type:"intersection",left:t,right:e})}var Xx=_("ZodTuple",(t,e)=>{Br(),Tl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ld(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Ur({type:"optional",innerType:e}))})}});function Zr(t,e,r){let o=e instanceof U,n=o?r:e,s=o?e:null;return new Xx({type:"tuple",items:t,rest:s,...T.normalizeParams(n)})}var Rd=_("ZodRecord",(t,e)=>{Br(),zl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>fd(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function kt(t,e,r){return!e||!e._zod?new Rd({type:"record",keyType:z(),valueType:t,...T.normalizeParams(e)}):new Rd({type:"record",keyType:t,valueType:e,...T.normalizeParams(r)})}var Si=_("ZodEnum",(t,e)=>{$l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(o,n,s)=>rd(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new Si({...e,checks:[],...T.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new Si({...e,checks:[],...T.normalizeParams(n),entries:s})}});function He(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new Si({type:"enum",entries:r,...T.normalizeParams(e)})}var zi=_("ZodLiteral",(t,e)=>{Ol.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>od(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function jd(t,e){return new zi({type:"literal",values:Array.isArray(t)?t:[t],...T.normalizeParams(e)})}var Qx=_("ZodTransform",(t,e)=>{Br(),Pl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>sd(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Kt(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(T.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(T.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function ey(t){return new Qx({type:"transform",transform:t})}var Ur=_("ZodOptional",(t,e)=>{Qs.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>vi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Nd(t){return new Ur({type:"optional",innerType:t})}var Fd=_("ZodExactOptional",(t,e)=>{Ml.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>vi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function ty(t){return new Fd({type:"optional",innerType:t})}var $i=_("ZodNullable",(t,e)=>{Il.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>dd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Ld(t){return new $i({type:"nullable",innerType:t})}var Oi=_("ZodDefault",(t,e)=>{Rl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>hd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function ry(t,e){return new Oi({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():T.shallowClone(e)}})}var Pi=_("ZodPrefault",(t,e)=>{Nl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>gd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function oy(t,e){return new Pi({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():T.shallowClone(e)}})}var Hd=_("ZodNonOptional",(t,e)=>{Ll.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>pd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function ny(t,e){return new Hd({type:"nonoptional",innerType:t,...T.normalizeParams(e)})}var sy=_("ZodCatch",(t,e)=>{Cl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>_d(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function iy(t,e){return new sy({type:"catch",innerType:t,catchValue:typeof e=="function"?e:T.constantCatch(e)})}var ay=_("ZodPipe",(t,e)=>{Dl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>wd(t,r,o,n),t.in=e.in,t.out=e.out});function Cd(t,e){return new ay({type:"pipe",in:t,out:e})}var uy=_("ZodReadonly",(t,e)=>{Bl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>xd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function cy(t){return new uy({type:"readonly",innerType:t})}var ly=_("ZodCustom",(t,e)=>{Zl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nd(t,r,o,n)});function fy(t,e={}){return Mf(ly,t,e)}function dy(t,e){return If(t,e)}var qr={};bs(qr,{bigint:()=>_y,boolean:()=>gy,date:()=>wy,number:()=>hy,string:()=>my});function my(t){return Vl(ki,t)}function hy(t){return Sf(en,t)}function gy(t){return Af(Ei,t)}function _y(t){return Tf(Bd,t)}function wy(t){return Of(Ud,t)}function xy(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function Kd(t,e){let o=e.map(n=>({name:n,distance:xy(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function Wd(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let u=n.keys[0],c=Kd(u,Mi(t,s,e));throw new Fe(Gd(r,[...s,u]),`the key is unknown${c}`)}let i=Ii(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Fe(Gd(r,s),`found ${a}, ${yy(n)}`)}function yy(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`expected ${by(t.expected==="int"?"integer":t.expected)}`;case"too_small":return`expected ${t.inclusive?"at least":"more than"} ${t.minimum}`;case"too_big":return`expected ${t.inclusive?"at most":"less than"} ${t.maximum}`;case"invalid_value":return`expected ${t.values.map(String).join(" or ")}`;default:return t.message}}function by(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function Gd(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Ii(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Mi(t,e,r){let o=Vd(t);if(o instanceof Ai){let a=o.options.map(c=>Vd(c)),u=a.filter(c=>vy(c,r));return(u.length>0?u:a).flatMap(c=>Mi(c,e,r))}if(!(o instanceof Xt))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Mi(n[s],i,Ii(r,[s])):[]}function vy(t,e){return t instanceof Xt?Object.entries(t.shape).every(([r,o])=>!(o instanceof zi)||o.safeParse(Ii(e,[r])).success):!1}function Vd(t){let e=t;for(;e instanceof Oi||e instanceof Pi||e instanceof Ur||e instanceof $i;)e=e.unwrap();return e}var Yd=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var Sy=37;function Jd(t){return Sy+t.source.length+t.destination.length}function er({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var Ce=class extends y{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},jr=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new Ce(this.at,`found ${o}, expected ${e}`)}};var Qd=3528531795,ep=3449720151,ky=2654435769,Ey=3144134277,Ay=10,tn=2**32;var De=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#i=0;#a=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, expected an integer in 0..2^53-1`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], expected up to three u32`);let[n,s]=Ty(r);tp(this.#s,n,s,0,0,e>>>0,Math.floor(e/tn)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#i=0,this.#a=4}uint32(){return this.#a===4&&this.#u(),this.#s[this.#a++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===tn)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: expected 1..2^32`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(tn-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return Ri(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#u(){b(this.#i<tn,"a random stream gave all of its 2^34 numbers"),tp(this.#s,this.#i++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#a=0}};function tp(t,e,r,o,n,s,i){let a=e|0,u=r|0,c=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<Ay;p++){let m=Ri(a,Qd),g=Math.imul(a,Qd),h=Ri(c,ep),w=Math.imul(c,ep);a=h^u^f,u=w,c=m^l^d,l=g,f=f+ky|0,d=d+Ey|0}t[0]=a,t[1]=u,t[2]=c,t[3]=l}function Ri(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var rp=new Map;function Ty(t){let e=rp.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return rp.set(t,o),o}function Ee(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}var up=["float64","fixed","log","clipped"],op=8,Hr=1e3,Kr=2**32,rn=4294967295,Ni=Number.MAX_SAFE_INTEGER,Zi=.001,Py=1e6,cp=65535,Li=65535,Ui=Math.log(Py/Zi)/cp,RA=Math.expm1(Ui/2),My={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&un(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},lp={name:"fixed",maxRttMs:Ni/Hr,encode(t,e){t!==null&&un(t,lp.maxRttMs),fp(t===null?null:Math.min(Math.round(t*Hr),Ni),e)},decode(t){return dp(t,Ni)}},Iy={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?Li:Ny(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>Li))return e===Li?null:Zi*Math.exp((e+.5)*Ui)}};function Ry(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: expected an integer in 1..2^53-1`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&un(e,Number.MAX_VALUE),fp(e===null?null:Math.min(Math.round(e*Hr),t),r)},decode(e){return dp(e,t)}}}function an({name:t,clipMs:e}){return t==="clipped"?Ry(Math.max(1,Math.round(e*Hr))):{float64:My,fixed:lp,log:Iy}[t]}function un(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a number in 0..${e}`)}function Ny(t){un(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/Zi)/Ui);return Math.max(0,Math.min(e,cp-1))}function fp(t,e){e.setUint32(0,t===null?rn:Math.floor(t/Kr)),e.setUint32(4,t===null?rn:t%Kr)}function dp(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===rn&&o===rn)return null;let n=r*Kr+o;return n<=e?n/Hr:void 0}var NA={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var tr=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(op))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},u=r.map(c=>c==="result"?"rtt":c);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?u.filter(c=>c!=="time"):u,er(e))}write(e,r,o=Jd(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found space for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&b(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,op);case"size":return Ci("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return Ci("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){Ci(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/Kr);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*Kr),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function Ci(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: expected an integer in ${r}..${o}`)}var Ly=new Uint16Array(9);function cn(t,e,r){if(e===0)return;let o=Ly,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),u=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),c=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:c*12+a,age:u}}var ln=2;function pp({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function mp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var dn={};bs(dn,{BYTE_BASE:()=>P,DST_IPV4:()=>_e,DST_IPV6:()=>Be,FAILED:()=>ae,FIELD_ORDERS:()=>Gr,MEASUREMENT_START:()=>ie,QUERY_ORDER:()=>st,ROLE_NAMES:()=>fn,RTT_START:()=>L,SRC_IPV4:()=>Ae,SRC_IPV6:()=>nt,THROUGHPUT_START:()=>Cy,TIMESTAMP_ABS:()=>ue,TIMESTAMP_DELTA1:()=>Ke,TIMESTAMP_DELTA4:()=>Te,VOCAB_SIZE:()=>dt,measurementLength:()=>Ge,timeLength:()=>Vr,tokenName:()=>qi,untimedLength:()=>hp});var ie=0,Ae=1,nt=2,_e=3,Be=4,ue=5,Ke=6,Te=7,L=8,Cy=9,ae=10,P=11,dt=267,fn=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],Gr=gp(["source","destination","result","time"]),st=["source","destination","time","result"];function qi(t){return t>=11&&t<267?`byte ${t-11}`:fn[t]??`unknown token ${t}`}function Ge(t,e){return hp(t.source.length,t.destination.length,t.rttCode===null)+Vr(t.timeS,e)}function hp(t,e,r){return 3+t+e+(r?1:3)}function Vr(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function gp(t){return t.length<=1?[[...t]]:t.flatMap(e=>gp(t.filter(r=>r!==e)).map(r=>[e,...r]))}function Ze(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a finite number of 0 or more`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function pn(t){let{exponent:e,mantissa:r}=_p(t);return e>0?(r+.5)*2**e/1e3:ji(r)}function mn(t){let{exponent:e,mantissa:r}=_p(t),o=e===31&&r===2047;return{lowMs:t===1?0:ji(r*2**e),highMs:o?1/0:ji((r+1)*2**e)}}function Wr(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var he=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(Wr));function ji(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function _p(t){if(!Wr(t))throw new RangeError(`Cannot decode RTT code ${t}: expected a canonical code`);return{exponent:t>>11,mantissa:t&2047}}function wp(t){let e=new Fi(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var Fi=class extends jr{#e=null;constructor(e){super(e,dn)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=Dy(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!Wr(r))throw new Ce(e,`found RTT code ${r}, expected a canonical code`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new Ce(e,`found ${qi(r)}, expected ${i}`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new Ce(e,`found a gap of ${n} s in 4 bytes, expected 1 byte`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new Ce(e,`found a time of ${s} s, expected at most 2^53-1 s`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function Dy(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var Ve=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=Ge(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found space for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&b(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!Wr(e))throw new RangeError(`Cannot write RTT code ${e}: expected a canonical code`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: expected whole seconds in 0..2^53-1`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: expected at most 2^32-1 s`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var pt=11,Hi=2**20;function xp(t,e){let r=t.slice(-9).reverse();return cn(r.map(({rttCode:o})=>o),r.length,yp(e,r[0]?.timeS??null))}function yp(t,e){return t===null||e===null?null:Math.abs(t-e)}var hn=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}rttHistory(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(c=>c.timeS===null||c.timeS>s),a=[...i.map(({rttCode:c})=>c).reverse(),...n.filter(c=>c>0)],u=i.at(-1)?.timeS??(s>0?s:null);return cn(a,a.length,yp(r,u))}save(){let e=this.#t.length,r=new Float32Array(e*pt);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/Hi),s%Hi],o*pt)}return r}load(e){let r=this.#t.length;b(e.length===r*pt,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*pt,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*Hi+e[n+9+1]}}},By={[5]:8,[6]:1,[7]:4,[8]:2},gn=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#i=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=By[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#a(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#i&&(this.#s=new Map(this.#s)),this.#i=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#a(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function _n(t){return Math.log(Math.max(t,.001))}var Zy=.001;function Ki(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function bp(t,e){return t===0?e:Math.log(Math.max(1+t*e,Zy**t))/t}function Gi(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return Ee(Ee(o+1)^Math.imul(n+1,2654435769))%r}var wn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;b(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)b(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let u=this.start[o];this.others=new Uint32Array(u),this.logs=new Float32Array(u),this.folds=new Uint8Array(u),this.weights=new Float32Array(u);let c=this.start.slice(),l=(f,d,p)=>{let m=c[f]++;this.others[m]=d,this.logs[m]=_n(i[p]),this.folds[m]=Gi(f,d,r),this.weights[m]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},le=-1;function vp(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(le),a=new Uint32Array(s);for(let u=0;u<s;u++){let c=0;for(i[u]===le&&(a[c++]=u);c>0;){let l=a[--c];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=u,i[o[f]]===le&&(i[o[f]]=u,a[c++]=o[f]))}}return i}var xn=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let u=o[0]*e[a],c=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=u*r[0]+c*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=u*e[d]+c*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],u=this.#t[i]+a*(r?.[i]??0);for(let c=0;c<=i;c++){let l=this.#e[i*o+c]+(i===c?a:0);for(let f=0;f<c;f++)l-=n[i*o+f]*n[c*o+f];n[i*o+c]=i===c?Math.sqrt(l):l/n[c*o+c]}for(let c=0;c<i;c++)u-=n[i*o+c]*s[c];s[i]=u/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var Uy=.1,qy=.25,jy=3;function Sp(t,e){return t>Math.floor(e*qy)?-1:1}var Yr=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#i=new Float64Array(4);#a=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new xn(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=jy,this.#o=Float64Array.from({length:r},(o,n)=>Sp(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,u=a.length,c=this.#a*u,l=this.#n,f=e-o[n];l[c]=1;for(let p=1;p<u;p++)l[c+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let m=0;m<u;m++)p-=l[c+m]*s[i+m];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#a]=f,this.#i[this.#a++]=d,this.#a===4&&this.#u()}solve(e){this.#i.fill(0,this.#a),this.#u();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#u(){this.#t.addFour(this.#n,this.#s,this.#i),this.#a=0}};function kp(t,e,r){let o=new De(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:Uy*o.normal())}function Ep(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:u}=e,{rank:c,numPlainSweeps:l,numSweeps:f,without:d}=r,p=c+1,m=new Yr(r);for(let g=0;g<f;g++){let h=g<l?void 0:t;for(let w=0;w<a;w++){if(o[w]===o[w+1]){t.fill(0,w*p,(w+1)*p);continue}for(let x=o[w];x<o[w+1];x++){if(d>>s[x]&1)continue;let k={value:u[x],weight:i[x]};m.add(k,t,n[x]*p,h,w*p)}t.set(m.solve(),w*p)}}}function Ap(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=Sp(s,o)*t[r+s]*e[r+s];return n}var Fy=5,Tp=3,zp=2048,Rp=64,Hy=1e-6,$p=8,Ky=2;function Gy(t,e,{estimate:r,usualError:o}){let n=yn(e,Rp),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-(Tp+1)/2*Math.log1p(((p-f)/o)**2/Tp))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let u=n.map(({log:f},d)=>{let p=Op(a.map((m,g)=>m-i[d][g]));return Math.abs(p.reduce((m,g,h)=>m+g*s[d][h],0)-f)}).sort((f,d)=>f-d),c=u.length,l=o*(1+Ky/c);return{nodes:[...Op(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(c*u[c>>1]+$p*l)/(c+$p)}}function Op(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<Hy?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function yn(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var Vy=2,Wy=2/3,Yy=5,Jy=2,Pp=le-1,Et=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,u=n+1,c=Xy(e,s),l=new Float32Array(i*o.length*u),f=new Float32Array(a.length),d=kp(i,n,r.seed);return o.forEach((p,m)=>{for(let h=0;h<f.length;h++)f[h]=Ki(p,a[h]-c[0]);let g=m===0?{numPlainSweeps:Vy,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-Wy)*r.numSweeps)};Ep(d,{neighbours:e,values:f},{...r,...g});for(let h=0;h<i;h++)l.set(d.subarray(h*u,(h+1)*u),(h*o.length+m)*u)}),new t({powers:o,options:r,vectors:l,components:vp(e,s),range:c})}vectorOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<le?Pp-i:i}}put(e,{vectors:r,component:o}){this.vectorOf(e).vectors.set(r),this.factors.components[e]=o===le?le:Pp-o}estimate(e,r){if(e.component===le||r.component===le)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,u=e.component===r.component?n.rank:0,c=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let m=Ap(e.vectors,r.vectors,p*this.#e,u),g=Math.min(a,Math.max(i,s+bp(d,m)));c+=g,l=Math.min(l,g),f=Math.max(f,g)}),{log:c/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),u=x=>this.vectorOf(x).component,c=Ip(e.map(({node:x})=>u(x)).filter(x=>x!==le)),l=e.filter(({node:x})=>u(x)===c);if(c===void 0)return{vectors:a,component:le,error:r};let f=[...i.keys()].filter(x=>i[x]===c&&!o.has(x)),d=yn(f,zp).map(x=>({node:x,place:this.vectorOf(x)})),p=l.map(({node:x,log:k})=>({place:this.vectorOf(x),log:k})),{nodes:m,error:g}=Gy(d,p,{estimate:(x,k)=>this.estimate(x,k)?.log??NaN,usualError:r}),h=s.regularisation*Fy,w=new Yr({...s,regularisation:h});return n.forEach((x,k)=>{let I=this.#r(m,k),A=I;for(let O=0;O<Yy;O++)this.#t(w,l,k,A),A=w.solve(I);a.set(A,k*this.#e)}),{vectors:a,component:c,error:Mp(g,r)}}typicalNode(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=Ip(o.filter(f=>f>le));if(s===void 0)return{vectors:n,component:le,error:e};let i=yn([...o.keys()].filter(f=>o[f]===s),zp),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let u=yn(i,Rp).map(f=>this.vectorOf(f)),c=(f,d)=>this.estimate(f,d)?.log??NaN,l=u.flatMap(f=>{let d=c(f,{vectors:n,component:s});return u.filter(p=>p!==f).map(p=>Math.abs(c(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:Mp(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:u,log:c}of r){let l=(u*s.length+o)*this.#e;e.add({value:Ki(s[o],c-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let u=(i*s.length+r)*this.#e;for(let c=0;c<o.length;c++)o[c]+=a*n[u+c]}return o}};function Mp(t,e){return Math.fround(Jy*t*Math.max(1,t/e))}function Ip(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function Xy({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let u=0;u<t.length;u++)o>>e[u]&1||(n+=r[u]*t[u],s+=r[u],i=Math.min(i,t[u]),a=Math.max(a,t[u]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var At=[0,.5,1],Np=6,Qy=.2;function bn(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,At.length,1+o],nodes:[r+1,2,e],fits:[r+1,Np]}}function Vi({numNodes:t,numFolds:e,rank:r},o){let n=At.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var Tt=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,b(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return Gi(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.vectorOf(f):f.places[o],u=n.estimate(a(e),a(r));if(!u)return;let c=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(c(e)*c(r))*(u.spread/i+Qy);return{rttMs:Math.exp(u.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:_n(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalNode(r))}}hasCoordinates(e,r=this.size.numFolds){return this.fits[r].factorisation.vectorOf(e).component!==le}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(bn(e))){let{length:d}=r[l];b(d===f.reduce((p,m)=>p*m),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:u}=r,c=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=c(u,Np,f),[p,m,g]=d.subarray(3);return{factorisation:new Et({powers:At,options:{rank:s,knee:p,regularisation:m},vectors:c(i,o*At.length*(1+s),f),components:c(a,o,2*f),range:d.subarray(0,3)}),errors:c(a,o,2*f+1),usualError:g}}))}};var eb=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],tb=[.5],Lp=5,rb=1,ob=5e-4,nb=4;function Cp(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=eb}=e;b(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=nb*At.length*(o+1)*t.numNodes,u=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),c=new wn(t,o),l={rank:u,numSweeps:n,seed:r},f=i.map(sb),d=f.map(m=>ab(c,{...l,...m})),p=Array.from({length:o+1},(m,g)=>{let h=g===o,w=h?2**o-1:1<<ib(g),x=cb(d.map(I=>ub(c,I,w)));return{factorisation:Et.fit(c,{...l,...f[x],powers:At,without:h?0:1<<g}),...lb(c,d[x],w)}});return new Tt({numNodes:t.numNodes,numFolds:o,rank:u},p)}function sb({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function ib(t){return t^1}function ab(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,u=new Float32Array(s.length);for(let c=0;c<a;c+=2){let l=3<<c,f=Et.fit(t,{...e,powers:tb,without:l});for(let d=0;d<i;d++){let p=f.vectorOf(d);for(let m=r[d];m<r[d+1];m++){if(!Wi(l,n[m]))continue;let g=f.estimate(p,f.vectorOf(o[m]));u[m]=g?Math.abs(g.log-s[m]):NaN}}}return u}function Wi(t,e){return(t>>e&1)===1}function ub({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!Wi(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function cb(t){return t.indexOf(Math.min(...t))}function lb({start:t,folds:e,numNodes:r},o,n){let s=(c,l)=>{let f=o.subarray(c,l).filter((d,p)=>Wi(n,e[c+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??rb,a=Math.fround(Math.max(ob,i)),u=Float32Array.from({length:r},(c,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+Lp*a)/(f+Lp)});return{usualError:a,errors:u}}var $=4294967295,fb=64,zt=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let u=0;u<Math.min(fb,s);u++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):$;a=a+1===s?0:a+1}return $}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){db(this.#e,e.subarray(2*this.firstRow))}load(e){b(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),pb(e.subarray(2*this.firstRow),this.#e)}};function db(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function pb(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function Dp(t,e){let r=Ee(t+e),o=Ee(r^Bp);return{hash1:r,hash2:o,length:e,row:$,isDropped:!1,numBytes:0,isWhole:!1}}var Bp=2654435769;function vn(t,e){t.hash1=Ee(t.hash1*257+e+1),t.hash2=Ee(Math.imul(t.hash2,65599)+e+1),t.isWhole=++t.numBytes===t.length}function Zp(t,e,r=0){let o=(n,s)=>Ee(n+s^Math.imul(n,s)^Math.imul(r,Bp));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function Sn(t,e,r){return r>0&&Ee(t^e)<r*2**32}var Jr="coordinates.keys";function Xr(t){return`coordinates.${t}`}function Up(t){let e=Object.entries(bn(rr(t))).map(([r,o])=>{let n=o[o.length-1];return[Xr(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[Jr,[t.nodes,2]],...e])}function rr({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var kn=class{config;#e;#t;constructor(e){this.config=e,this.#e=new zt(0,e.nodes)}load(e){this.#e.load(B(e,Jr));let r=Object.keys(bn(rr(this.config))),o=Object.fromEntries(r.map(n=>[n,B(e,Xr(n))]));this.#t=Tt.load(rr(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(Jr,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(Xr(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=Cp({numNodes:r,...e},s)}hasCoordinates(e){return e!==$&&(this.#t?.hasCoordinates(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasCoordinates(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=Tt.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==$)return;let a=n&&e!==$&&r!==$?i.foldOf(e,r):this.config.folds,[u,c]=[e,r].map((f,d)=>f!==$&&!s[d]&&i.hasCoordinates(f,a)?f:i.typical),l=i.estimate(u,c,a);return l&&{...l,isOfBoth:typeof u=="number"&&typeof c=="number"}}};var gb=0,_b=256,wb=512,xb=768,Yi=772,yb=0,bb=Yi,vb=2*Yi,jp=3*Yi,Fp=jp+48,Hp=Fp+26,qp=2**-10,Kp=22,Gp=Hp+Kp;function Vp(t){return Yp(t,e=>[gb+(e>>8),_b+(e&255)])}function Wp(t,e){return Yp(t,r=>{let o=(r>>8)-e;return o===0?[wb+(r&255)]:[xb+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function Yp(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,qp)/qp),a=Math.min(Kp-1,Math.floor(2*i));return[...e(Ze(t.rttMs)).map(u=>vb+u),Hp+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>yb+i),...e(o).map(i=>bb+i),jp+n,Fp+s]}var Sb={v1:266,v2:267},Qr=t=>M().min(1).max(t),Jp=2**36,Xp=St({rows:M().min(16).max(2**24),seed:M().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),kb=St({...Xp.shape,history:vt().default(!0)}),Eb=St({nodes:M().min(16).max(2**24),rank:M().min(1).max(64).default(24),folds:M().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),Ab=St({numLayers:Qr(1024),width:Qr(65536),numHeads:Qr(1024),headDim:jd([32,64,128]),mlpWidth:Qr(262144),sequenceLength:Qr(65535),vocabulary:He(["v1","v2"]).default("v2"),rttEncoding:He(up).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:He(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:vt().default(!0),keyShift:vt().default(!1),byteVectors:He(["random","ordinal"]).default("random"),prefixVectors:Xp.nullable().default(null),pairVectors:kb.nullable().default(null),coordinates:Eb.nullable().default(null)});function Ji(t){let e=Wd(Ab,t,"model");return Tb(e),e}function Tb(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Fe(`model.${r}`,`found ${t[r]}, expected a multiple of 4`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Fe(`model.${r}`,`vocabulary ${t.vocabulary} does not support it, expected v2 or null`);if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Fe("model.rttEncoding","vocabulary v2 has its own encoding, expected v1 or null");let e=$b(t);if(e>Jp)throw new Fe("model",`found ${e} parameters, expected at most ${Jp}`)}function En({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function ve(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+zb(t)}function zb({pairVectors:t,coordinates:e}){return t?.history||e?Gp:0}function G(t){return Sb[t.vocabulary]}function An(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=G(t),s=new Map([["wte.weight",[n,e]]]),i=ve(t);i>0&&s.set("address_embed.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let u=`blocks.${a}`;s.set(`${u}.attn.q_proj.weight`,[o,e]),s.set(`${u}.attn.k_proj.weight`,[o,e]),s.set(`${u}.attn.v_proj.weight`,[o,e]),s.set(`${u}.attn.o_proj.weight`,[e,o]),s.set(`${u}.mlp.up_proj.weight`,[r,e]),s.set(`${u}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function Tn(t){let e=An(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(ze,[n,2]),o?.history&&e.set(or,[o.rows,pt]);let s=t.coordinates?Up(t.coordinates):[];return new Map([...e,...s])}var ze="address_embed.keys",or="address_embed.history";function $b(t){let e=0;for(let r of An(t).values())e+=r[0]*r[1];return e}var em=46,Qp=58,eo=8;function zn(t){return t.includes(":")?Ob(t):tm(t,0)}function ee(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, expected 4 or 16`);if(Ib(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:eo},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=Rb(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function tm(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==em)return;let s=o,i=0;for(;o-s<3;o++){let u=t.charCodeAt(o)-48;if(!(u>=0&&u<=9))break;i=i*10+u}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function Ob(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===eo)return;let s=Pb(t,r);if(t.charCodeAt(s)===em){let a=tm(t,r);if(!a||o>eo-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==Qp||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===Qp){if(n>=0)return;n=o,r++}}return Mb(e,o,n)}function Pb(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function Mb(t,e,r){if(r<0)return e===eo?t:void 0;if(e===eo)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function Ib(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function Rb(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function Xi(t){let{bytes:e,length:r}=nm(t);return to(e,r)}function rm(t){let{bytes:e,length:r}=nm(t);return e.some((o,n)=>(o&~Qi(r,n))!==0)}function to(t,e=t.length*8){return{bytes:t.map((r,o)=>r&Qi(e,o)),length:e}}function Q({bytes:t,length:e}){return e===t.length*8}function We(t){let e=ee(t.bytes);return Q(t)?e:`${e}/${t.length}`}function om({bytes:t,length:e},r){return{first:t[r],last:t[r]|~Qi(e,r)&255}}function Qi(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function ro(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it and give its address":""}function nm(t){let e=Nb(t);if("fault"in e)throw new y(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function Nb(t){let e=t.indexOf("/"),r=zn(e<0?t:t.slice(0,e));if(!r)return{fault:`expected an IPv4 or IPv6 address or prefix${ro(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, expected 0 to ${o}`}}var Lb=2**18,Cb=2**20,nr=2**21,$t={measurements:0,lastS:null},Z=4,ra=class{columns;isTruncated;#e;constructor(e,r){this.columns=e,this.isTruncated=r;let{v4:o,v6:n,seen:s,pairs:i}=e;this.#e=o.length,b(s.length===Z*(o.length+n.length/Z)&&i.length%Z===0,"the columns of known addresses are of different lengths")}get numAddresses(){return this.columns.seen.length/Z}get numPairs(){return this.columns.pairs.length/Z}address(e){let r=this.#t(e);return r<0?void 0:this.#n(r)}pair(e,r){return this.measuredIn(e,{bytes:r,length:8*r.length})}measuredIn(e,r){let o=this.#t(e);if(o<0)return $t;let{pairs:n}=this.columns,[s,i]=this.#r(r),a=0,u=0,c=ea(this.numPairs,l=>n[Z*l]-o||n[Z*l+1]-s);for(let l=Z*c;n[l]===o&&n[l+1]<i;l+=Z)a+=n[l+2],u=Math.max(u,n[l+3]);return no(a,u)}destinationsOf(e){let r=this.#t(e);if(r<0)return[];let{pairs:o}=this.columns,n=[],s=ea(this.numPairs,i=>o[Z*i]-r);for(let i=s;i<this.numPairs&&o[Z*i]===r;i++){let a=Z*i,u={measurements:o[a+2],lastS:o[a+3]};n.push({address:this.#n(o[a+1]),seen:u})}return n}get pairDiscount(){let e=[0,0,0];for(let r=2;r<this.columns.pairs.length;r+=Z)this.columns.pairs[r]<=2&&e[this.columns.pairs[r]]++;return(e[1]+1)/(e[1]+2*e[2]+3)}*destinations(){for(let e=0;e<this.numAddresses;e++)this.columns.seen[Z*e+2]>0&&(yield this.#n(e))}countIn(e){let[r,o]=this.#r(e);return o-r}prefixAround(e){for(let r of e.length===4?[24,16,8]:[64,48,32]){let o=to(e,r),n=this.countIn(o);if(n>0)return{prefix:o,numKnown:n}}}#t(e){let[r,o]=this.#r({bytes:e,length:8*e.length});return o>r?r:-1}#r({bytes:e,length:r}){let o=e.map((n,s)=>n|255>>Math.min(8,Math.max(0,r-8*s)));return[this.#o(e,!1),this.#o(o,!0)]}#o(e,r){let{v4:o,v6:n}=this.columns,s=am(e),i=r?-1:0,[a,u,c]=s.length===1?[o,1,0]:[n,Z,this.#e];return c+ea(a.length/u,l=>um(a,u*l,s)||i)}#n(e){let{v4:r,v6:o,seen:n}=this.columns,s=e<this.#e?r.subarray(e,e+1):o.subarray(Z*(e-this.#e),Z*(e-this.#e+1)),i=Z*e;return{bytes:Uint8Array.from({length:4*s.length},(a,u)=>s[u>>2]>>>24-8*(u&3)),asSource:no(n[i],n[i+1]),asDestination:no(n[i+2],n[i+3])}}};function no(t,e){return t===0?$t:{measurements:t,lastS:e>0?e:null}}function ea(t,e){let r=0,o=t;for(;r<o;){let n=r+o>>>1;e(n)<0?r=n+1:o=n}return r}function am(t){let e=new DataView(t.buffer,t.byteOffset,t.length);return Uint32Array.from({length:t.length/4},(r,o)=>e.getUint32(4*o))}function um(t,e,r){for(let o=0;o<r.length;o++)if(t[e+o]!==r[o])return t[e+o]-r[o];return 0}var io=class t{#e=new Map;#t=[];#r=[];#o=new Map;#n=[];#s=!1;#i=0;#a=1/0;#u=-1/0;static of({known:{columns:e,isTruncated:r},summary:o}){let n=new t,{v4:s,v6:i,seen:a,pairs:u}=e;for(let c=0;c<s.length;c++)n.#c(s.subarray(c,c+1));for(let c=0;c<i.length;c+=Z)n.#c(i.subarray(c,c+Z));a.forEach((c,l)=>n.#r[l]=c);for(let c=0;c<u.length;c+=Z)n.#o.set(u[c]*nr+u[c+1],c/Z),n.#n.push(u[c+2],u[c+3]);return n.#s=r,n.#i=o.measurements,n.#a=o.startS??1/0,n.#u=o.endS??-1/0,n}id(e){return this.#c(am(e))}#c(e){let r=e.join(),o=this.#e.get(r);if(o!==void 0)return o;let n=this.#t.length;return n===nr?(this.#s=!0,-1):(this.#e.set(r,n),this.#t.push(e),this.#r.push(0,0,0,0),n)}add(e,r,o){if(this.#i++,o!==null&&(this.#a=Math.min(this.#a,o),this.#u=Math.max(this.#u,o)),e<0||r<0)return;ta(this.#r,Z*e,o),ta(this.#r,Z*r+2,o);let n=e*nr+r,s=this.#o.get(n);if(s===void 0){if(s=this.#o.size,s===nr){this.#s=!0;return}this.#o.set(n,s),this.#n.push(0,0)}ta(this.#n,2*s,o)}summary(e){let r=n=>this.#t.filter((s,i)=>this.#r[Z*i+n]>0).length,o=this.#a<1/0;return{origin:e.origin,isSynthetic:e.isSynthetic,startS:o?this.#a:null,endS:o?this.#u:null,measurements:this.#i,sources:r(0),destinations:r(2)}}table(e=Lb,r=Cb){let o=this.#r,n=p=>o[Z*p]+o[Z*p+2],s=sm(this.#t.map((p,m)=>m),e,n);s.sort((p,m)=>{let[g,h]=[this.#t[p],this.#t[m]];return g.length-h.length||um(g,0,h)});let i=new Map(s.map((p,m)=>[p,m])),a=[];for(let[p,m]of this.#o){let g=i.get(Math.floor(p/nr)),h=i.get(p%nr);g===void 0||h===void 0||a.push([g,h,this.#n[2*m],this.#n[2*m+1]])}let u=sm(a,r,([,,p])=>p);u.sort((p,m)=>p[0]-m[0]||p[1]-m[1]);let c=s.filter(p=>this.#t[p].length===1),l=s.slice(c.length),f={v4:Uint32Array.from(c,p=>this.#t[p][0]),v6:Uint32Array.from(l.flatMap(p=>[...this.#t[p]])),seen:Uint32Array.from(s.flatMap(p=>o.slice(Z*p,Z*(p+1)))),pairs:Uint32Array.from(u.flat())},d=s.length===this.#t.length&&u.length===this.#o.size;return new ra(f,this.#s||!d)}};function ta(t,e,r){t[e]++,t[e+1]=Math.max(t[e+1],r??0)}function sm(t,e,r){return t.length<=e?t:t.toSorted((o,n)=>r(n)-r(o)).slice(0,e)}function oo(t,e=$t){let{measurements:r,lastS:o}=no(t.measurements+e.measurements,Math.max(t.lastS??0,e.lastS??0));return{measurements:r,inAdaptation:e.measurements,lastS:o}}function $n({known:t,adaptation:e},r,o){return oo(t.measuredIn(r,o),e?.known.measuredIn(r,o))}function cm(t,e,r){if(!t){let m="No table of the training data is at hand: whether these addresses were measured is not known.",g=oo($t);return{kind:"network",text:m,src:g,dst:g,pair:g}}let{known:o,summary:n,adaptation:s}=t,[i,a]=[e,r].map(m=>oo(im(o,m),s&&im(s.known,m))),u=Q(e)&&Q(r),c=u?$n(t,e.bytes,r):oo($t),l=u?$n(t,r.bytes,e):oo($t),f=c.measurements+l.measurements>0?"pair":i.measurements>0?a.measurements>0?"addresses":"source":a.measurements>0?"destination":"network",d=(...m)=>` a guess${m.map((g,h)=>`${h===0?" from ":" and "}${Db(o,g)}`).join("")}.`,p=[{pair:c.measurements>0?`Pair ${sr(c)}.`:`Pair ${sr(l)}, in the other direction only.`,addresses:`Source ${sr(i)}, destination ${sr(a)}, the pair never: an estimate from each.`,source:`Source ${sr(i)}, destination never:${d(r)}`,destination:`Destination ${sr(a)}, source never:${d(e)}`,network:`Neither ${u?"address":"place as one address"} is in the training data:${d(e,r)}`}[f]];return(o.isTruncated||s?.known.isTruncated)&&f!=="pair"&&p.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&p.push("The model knows a synthetic Internet, not the real one."),{kind:f,text:p.join(" "),src:i,dst:a,pair:c}}function im(t,e){let r=Q(e)?t.address(e.bytes):void 0;if(!r)return $t;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return no(o.measurements+n.measurements,s)}function Db(t,e){let r=Q(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${We(e)})`;let{prefix:o,numKnown:n}=r;return`${We(o)} (${n} known ${n===1?"address":"addresses"})`}function sr({measurements:t,inAdaptation:e,lastS:r}){if(t===0)return"never measured";let o=t===1?"measured once":`measured ${t} times`,n=e===t?`in ${t} ${t===1?"measurement":"measurements"} of the adaptation`:e>0?`${o}, ${e} of them in the adaptation`:o;return r===null?n:`${n}, last on ${new Date(r*1e3).toISOString().slice(0,10)}`}function lm({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:so(r),dst:so(o),pair:so(n)}}function so({measurements:t,inAdaptation:e,lastS:r}){return{measurements:t,in_adaptation:e,last_seen:Bb(r)}}function Bb(t){return t===null?null:new Date(t*1e3).toISOString()}var Se="address_embed.weight",Zb={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function Ub({coordinates:t}){return t?Vi(rr(t),0).reduce((e,{length:r})=>e+r,0):0}function fm({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?pt:0}}function dm(t,e,r){let o=new Map;return mm(t,r,({name:n,start:s,length:i,values:a,at:u})=>{let c=o.get(n)??B(e,n).slice();o.set(n,c),c.set(a.subarray(u,u+i),s)}),new Map([...e,...o])}function pm(t,e,r,o=Zb.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(fm(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(Ub(t)*o.length)}};return mm(t,n,({name:s,start:i,length:a,values:u,at:c})=>{u.set(B(e,s).subarray(i,i+a),c)}),n}function mm(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...u}}=e,{width:c,coordinates:l}=t,{firstPair:f,length:d}=fm(t);if(b(o.every(m=>m<ve(t)),"rows of another model"),o.forEach((m,g)=>{r({name:ze,start:2*m,length:2,values:n,at:2*g}),r({name:Se,start:c*m,length:c,values:s,at:c*g}),!(m<f||d===0)&&r({name:or,start:d*(m-f),length:d,values:i,at:d*g})}),b(a.every(m=>m<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((m,g)=>{r({name:Jr,start:2*m,length:2,values:u.keys,at:2*g});for(let{part:h,start:w,length:x}of Vi(rr(l),m))r({name:Xr(h),start:w,length:x,values:u.values,at:p}),p+=x})}function $e(t){return t.shape.reduce((e,r)=>e*r,1)}function Ye(t){return $e(t)*(t.dtype==="f16"?2:4)}function On(t,e="f32"){return Math.max(16,Math.ceil(Ye({shape:t,dtype:e})/16)*16)}var oa=256,na=65535;function oe(t){let e=Math.ceil(t/na);return[Math.ceil(t/e),e]}var Oe=class{registry;label;#e;#t;#r;#o;#n;#s;#i;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){b(!this.#i,`program ${this.label} is already built`);let r=this.#a(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/oa)*oa}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){b(!this.#s,`scratch memory of program ${this.label} is already allocated`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get dispatches(){return this.#e.map(({dispatch:e})=>e)}choose(e,{overrides:r,grid:o}){b(!this.#i,`program ${this.label} is already built`);let{dispatch:n,paramsOffsetBytes:s}=this.#e[e],i={...n,overrides:r,grid:o};this.#e[e]={dispatch:i,kernel:this.#a(i),paramsOffsetBytes:s}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+hm(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}destroy(){this.#i?.uniforms.destroy(),this.#s?.destroy()}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#u(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)qb(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),u=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:u,flops:n.flops??0,bytes:hm(n)})}return this.#r.check(),r}#a(e){let r=this.registry.get(e.kernel,e.overrides,Hb(e));return Kb(r,e),r}#u(){if(this.#i)return this.#i;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(oa,this.#o));for(let n of this.#e)Fb(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#i={uniforms:o,bindGroups:this.#e.map(n=>jb(e,n,o))},this.#i}};function qb(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function jb(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let c=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:c}}}let u=n.bindings[s];return{binding:i,resource:{buffer:u.buffer,offset:u.offsetBytes}}})})}function hm({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+Ye(n),0)}function Fb(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function Hb({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function Kb(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);gm(t,"binding",r,Object.keys(e.bindings)),gm(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=na&&Number.isInteger(o)))throw new D(t.name,`the grid is [${e.grid}], expected 1 to ${na} workgroups`)}function gm(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new D(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new D(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function H(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new D(t,`${o} is ${n}, expected a positive multiple of ${r}`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new D(t,`the length is ${e}, expected at least 1`);for(let[o,n]of Object.entries(r))if($e(n)<e)throw new D(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], expected ${e} elements`)}var Gb=4;function Ot(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";H(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:oe(s)})}function ao(t,e){return e+1+t}function Pn(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(ao(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function _m(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:u=s}=e,c="embedding_backward";H(c,{width:i},4),S(c,ao(u,a),{tokenRows:r}),S(c,s*i,{dx:o}),S(c,a*i,{dTable:n}),t.add({kernel:c,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*Gb*t.registry.lanes))]})}var ne=9,mt=class{config;#e;#t;#r;coordinates;constructor(e){this.config=e;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new kn(n));let s=r?.rows??0;r&&(this.#e=new zt(0,s)),o&&(this.#t=new zt(s,o.rows),o.history&&(this.#r=new hn(o.rows)))}load(e){this.#e?.load(B(e,ze)),this.#t?.load(B(e,ze)),this.#r?.load(B(e,or)),this.coordinates?.load(e)}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(ze,r),this.#r&&e.set(or,this.#r.save()),this.coordinates?.save(e)}claim(e,r){for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==$&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#n(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??$)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.#e?.row(o,n,r)??$}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.coordinates?.node(o,n,r)??$}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#o(this.#n(e),this.#n(r));return this.#t?.row(n,s,o)??$}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return $;let s=1-(1-n.dropShare)**(1/e.length);return r&&Sn(e.hash2,o,s)&&(e.isDropped=!0),e.isDropped?$:this.#e.row(e.hash1,e.hash2)}pairOf(e,r,{isTraining:o,context:n}){let{hash1:s,hash2:i}=this.#o(e,r),a=this.config.pairVectors?.dropShare??0,[u,c]=[s,i].map(d=>o&&Sn(d,n,a)),f=e.isDropped||r.isDropped||u||c?$:this.#t?.row(s,i)??$;return{hash1:s,hash2:i,source:e,destination:r,row:f,isUnknown:u}}historyOf({hash1:e,row:r,isUnknown:o},{rttHistory:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,u=s??i.rttsOf(e);return s||r===$?xp(u,a):this.#r.rttHistory(r-this.#t.firstRow,{timeS:a,newer:u})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[u,c]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(u,c);let l=Sn(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(u,c,{isTraining:n,hidden:f})}begin(e){return Dp(this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0,e)}#o(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return Zp(e,r,s)}#n(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)vn(o,n),r(o);return o}};var Vb={isTraining:!1,context:0},Wb=3,ht=class t{#e;#t;#r;#o;#n;#s=!1;#i;#a=new gn;constructor(e){this.#e=e}clone(){let e=new t(this.#e);return e.#o=this.#o&&{...this.#o},e.#t=this.#t===this.#o?e.#o:this.#t,e.#r=this.#r===this.#o?e.#o:this.#r,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i,e.#a=this.#a.clone(),e}read(e,r,o,n=Vb){r.fill($,o,o+ne);let s=e>=11&&e<267;if(n.rttHistory===void 0&&this.#a.read(e),s&&this.#s&&(this.#f(r,o),this.#i&&this.#l(r,o,Wp(this.#i,e-11))),this.#s=e===8,s){this.#o&&(r[o]=this.#c(this.#o,e-11,n));return}switch(this.#o=void 0,e){case 0:this.#a.end(this.#n?.hash1),this.#t=this.#r=this.#n=void 0;break;case 1:case 2:this.#o=this.#t=this.#u(e===1?4:16);break;case 3:case 4:this.#o=this.#r=this.#u(e===3?4:16);break;case 8:this.#i=this.#n&&(this.#e.historyOf(this.#n,n,this.#a)??this.#e.estimateOf(this.#n,n)),this.#f(r,o),this.#i&&this.#l(r,o,Vp(this.#i))}}#u(e){return this.#n=void 0,this.#e.begin(e)}#c(e,r,o){vn(e,r);let n=this.#e.prefixRow(e,o);n!==$&&(e.row=n),e.isWhole&&(this.#o=void 0);let[s,i]=[this.#t,this.#r];return s?.isWhole&&i?.isWhole&&(this.#n=this.#e.pairOf(s,i,o)),n}#l(e,r,o){o.forEach((n,s)=>e[r+Wb+s]=this.#e.selectedRow(n))}#f(e,r){let[o,n]=[this.#t,this.#r];e[r+2]=this.#n?.row??$,!(e[r+2]!==$||this.#i&&!Yb(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row))}};function Yb(t){return"isOfBoth"in t&&!t.isOfBoth}function Mt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(ve(t),o*r)}function uo({batchSize:t,sequenceLength:e}){return t*2*e}function co({tokens:t,segmentStart:e,histories:r},o,{sequenceLength:n,isTraining:s}){let i=new Uint32Array(t.length*ne),a=new ht(o),u=0;for(let c=0;c<t.length;c++){c%n===e[c]&&(a=new ht(o),s&&(u=Jb(t,e,c,n)));let l=r&&t[c]===8?mp(r,c*ln):void 0,f=r||s?l??null:void 0;a.read(t[c],i,c*ne,{isTraining:s,context:u,rttHistory:f})}return i}function Jb(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=Ee(s+t[i]);return s}var Mn=class{numSlots;numUses;isFixed;#e;constructor(e,r,o=!1){this.numSlots=e,this.numUses=r,this.isFixed=o,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==$&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===$?$:this.#e.get(o)??$);return Pn(r,this.numSlots,{perRow:ne,numUses:this.numUses})}};function wm(t,e,r){return{tokens:Pt(t.tokens,e,r),targets:Pt(t.targets,e,r),lossMask:Pt(t.lossMask,e,r),segmentStart:Pt(t.segmentStart,e,r),...t.histories?{histories:Pt(t.histories,e,r)}:{}}}function Pt(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function xm({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var Xb=64*8*4;function It(t){return oe(Math.ceil(t/Xb))}function ym(t,e){let{x:r,y:o,length:n}=e,s="copy";H(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:It(n)})}var lo=8;function bm(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function vm(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:u}=e,c="adamw";H(c,{length:u},4),S(c,u,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(c,lo,{hyper:i}),S(c,1,{clip:a}),t.add({kernel:c,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:u},grid:It(u)})}function Sm(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:u}=e,c="add_rows";H(c,{width:u},4),S(c,s*i,{indexes:r}),S(c,a*u,{table:o}),S(c,s*u,{x:n}),t.add({kernel:c,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:u,table_rows:a},grid:oe(s)})}function km(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:u,clip:c,slots:l,width:f}=e,d="adamw_rows";H(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,lo,{hyper:u}),S(d,1,{clip:c}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:u,clip:c,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:oe(l)})}function Em(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";H(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:oe(s)})}var Am=2**48;function Tm(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function zm(t,e=1/0){for(let[r,o]of t){let n=Tm(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, expected ${s}`}}function $m(t,e){let r=Tm(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new y(`Cannot use the model: found ${n}, as when weights are too large for float32, expected finite numbers; use an earlier checkpoint or another run`)}var Om=[32,64,128],ia={subgroup8:1024,tiled:2048};function Pm(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,u=fo(t.registry.gpu.info);Im(`attention_forward_${u}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${u}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...sa(e,u)})}function Mm(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:u,dq:c,dk:l,dv:f,delta:d}=e,p=fo(t.registry.gpu.info);Im(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:c,dk:l,dv:f},{logSumExp:a,delta:d},u);let m={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:u,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...m,out:s,dq:c},...sa(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...m,dk:l,dv:f},...sa(e,p)})}function fo(t){return t.subgroupSize===8?"subgroup8":"tiled"}function aa(t,e){if(!Om.includes(e))throw new D(t,`headDim is ${e}, expected one of ${Om.join(", ")}`)}function sa({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/ia[n]),r,t]}}function Im(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){aa(t,n);let u=e*r;S(t,u,{segmentStart:a}),S(t,u*o,i),S(t,u*o*n,s)}var Qb={relu2:0,gelu:1,silu:2},Nm={kernel:"gemm_subgroup8",overrides:{},tile:32},In={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},Lm={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},ev=256,Rm=16,Cm=0;function tv(t){return[...t.subgroupSize===8?[Nm]:[],In,Lm]}function ua(t,e){return t.subgroupSize===8?Nm:!t.isSoftware&&e.m*e.n>=ev*128*128?Lm:In}function rv(t,e){let r=ua(t,e),o=tv(t).filter(n=>n!==r&&n.kernel===r.kernel);return[r,...o]}var ov={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function nv(t,e){let{kernel:r}=ua(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:sv(e)}function sv({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=ov){let i=Math.ceil(t/In.tile)*Math.ceil(e/In.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function po(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:u,c,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,p=f?[ua(d,e)]:rv(d,e),m=e.variant?[e.variant]:p,{kernel:g}=m[0];if(H(g,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new D(g,`a product of ${o} x ${n} cannot be symmetric`);S(g,i*o*s,{a}),S(g,i*s*n,{b:u}),S(g,i*o*n,{c});let{code:h,read:w,written:x,activation:k}=av(l);for(let de of[w,x])if(de&&(S(g,i*o*n,{[de.label]:de}),de.buffer===c.buffer))throw new D(g,`${de.label} is in the buffer of c; to add to c use "accumulate"`);let I=typeof l=="string"&&i===1,A=e.splits??(I&&!e.variant?nv(d,e):1),O=Math.ceil(s/A/Rm)*Rm;if(A>1&&!(I&&g==="gemm_tiled"&&O*(A-1)<s))throw new D(g,`cannot divide k into ${A} splits here`);let R=A>1?t.scratch(A*o*n):c,q=e.label??`gemm ${r}`,te=iv(m,{kind:r,m:o,n,depth:i*A,activation:k}),[{overrides:ge,grid:xt}]=te,K=[a,u,c].map(de=>Ye(de)/$e(de)),je=`${r} ${o} x ${n} x ${s}, batch ${i}, splits ${A}, of ${K} bytes`;t.add({kernel:g,label:q,overrides:ge,bindings:{a,b:u,d:w??{...a,dtype:c.dtype},c:R,e:x??{...t.registry.unusedOutput,dtype:c.dtype}},params:{m:o,n,k:s,epilogue:A>1?Cm:h,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...g==="gemm_tiled"?{splits:A,split_k:O}:{}},grid:xt,flops:i*(f?o+1:2*o)*n*s,...te.length>1?{tuning:{key:je,launches:te}}:{}}),A!==1&&t.add({kernel:"sum_splits",label:`${q}, sum of splits`,bindings:{partials:R,c},params:{length:o*n,splits:A,accumulate:+(l==="accumulate")},grid:It(o*n)})}function iv(t,e){let{kind:r,m:o,n,depth:s,activation:i}=e;return t.map(({overrides:a,tile:u})=>({name:`tile ${u}`,overrides:{...a,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:i},grid:[Math.ceil(n/u),Math.ceil(o/u),s]}))}function av(t){if(t==="store")return{code:Cm,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=Qb[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var uv=64,cv=1e4,Dm=new WeakMap;function ca(t,e){let{x:r,y:o,scale:n,rotation:s=Rn(t,e)}=e,i="qk_norm_rope_forward";Bm(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...Zm(e)})}function la(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";Bm(i,e,{x:r,dy:n,dx:s},o);let a=Rn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...Zm(e)})}function Bm(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){H(t,{headDim:o},8),H(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function Zm({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:oe(Math.ceil(t*e/uv))}}function Rn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=Dm.get(o)??new Map;Dm.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=lv(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function lv(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*cv**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var fv=4;function Nn(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";H(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:oe(s)})}function Um(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:u}=e,c="rms_norm_backward";H(c,{width:a},4),S(c,i*a,{x:r,dy:n,dx:s}),S(c,i,{scale:o}),t.add({kernel:c,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(u)},grid:oe(Math.ceil(i/fv))})}function qm(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";Fm(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...Hm(e)})}function jm(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";Fm(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...Hm(e)})}function Ln(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Fm(t,{rows:e,numHeads:r,headDim:o},n,s){H(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function Hm({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:It(t*o*4)}}function Rt(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:u="store"}=s,c=B(r.operands,o),[l,f]=c.shape,d=e.batchSize*e.sequenceLength;po(t,{kind:"NT",m:d,n:l,k:f,a:i,b:c,c:a,epilogue:u,label:n})}function Km(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=B(r,o);s!==n&&ym(t,{x:n,y:s,length:$e(n)})}}function ir(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:u,operands:c}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=B(c,"wte.weight");Ot(t,{tokens:u.tokens,table:d,x:i[0].x,rows:l,width:f}),u.embeddingRows&&Sm(t,{indexes:u.embeddingRows,table:B(c,"address_embed.weight"),x:i[0].x,rows:l,rowsPerToken:ne,tableRows:ve(r),width:f});for(let m=0;m<r.numLayers;m++){let g=m===r.numLayers-1;Vm(t,e,m);let h=s&&g?dv(t,e,s):e;Wm(t,h,m),Jm(t,h,m),pv(t,h,{layer:m,out:g?a.xLast:i[m+1].x})}let p=s?.rows??l;Nn(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function dv(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,u=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let c=(f,d,p)=>Ot(t,{tokens:a,table:f,x:d,rows:i,width:p});c(u.x,r.x,o.width),c(u.xNorm,r.xNorm,o.width),c(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...u,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function fa(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function Cn(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function Gm(t,e,r){Vm(t,e,r),Wm(t,e,r),Jm(t,e,r)}function Vm(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],u=n.batchSize*n.sequenceLength;Nn(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:u,width:o.width});for(let f of["k","v"])Ym(t,e,{layer:r,part:f});let c={...Cn(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;ca(t,{x:a.k,y:l,scale:a.kScale,...c}),a.kUnshifted&&s.inputs.previous&&qm(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:u,numHeads:o.numHeads,headDim:o.headDim})}function Wm(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];Ym(t,e,{layer:r,part:"q"});let u={...Cn(o,n),...i?{rotation:i}:{}};ca(t,{x:a.q,y:a.qRotated,scale:a.qScale,...u}),e.addAttention?e.addAttention(t,r):Pm(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...fa(o,n)}),Rt(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function Ym(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;Rt(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function Jm(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:u,xMiddleScale:c,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Nn(t,{x:a,y:u,scale:c,rows:d,width:o}),Rt(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:u,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function pv(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Rt(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}var mv={initial:2**15,min:1,max:2**24,growthSteps:500};function Xm({initial:t}=mv){return Float32Array.of(t,0)}var hv=4096,gv=256,da="reduce_partials";function eh(t){return Math.min(gv,Math.ceil(t/hv))}function th(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(da,o,{x:r});let i=eh(o);if(i===1)return Qm(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);rh(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),Qm(t,{x:a,length:i,out:n,accumulate:s})}function Qm(t,e){S(da,1,{out:e.out}),rh(t,{label:"sum",isSum:!0,...e})}function rh(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:u=1,count:c=1,accumulate:l=!1}=e;t.add({kernel:da,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:u,accumulate:Number(l)},grid:[...oe(u),c]})}function oh(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:u,ordinal:c,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:m,softcap:g}=e,h="cross_entropy";nh(h,e),S(h,d,{targets:o,lossMask:n,losses:s}),S(h,d*m,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(h,1,{weight:i,...u?{lossScale:u}:{}}),t.add({kernel:h,overrides:{SOFTCAP:+(g!==null),GRADIENT:+(a!==void 0),SCALED:+(u!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:u??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:m,softcap:g??0,first_byte:c?.firstByte??0,ordinal_2:c?.weights[0]??0,ordinal_3:c?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:oe(d)})}function pa(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:u}=e,c="log_probabilities";nh(c,e),S(c,a,{logits:r}),S(c,s,{rowIndex:o}),S(c,s*i,{out:n}),t.add({kernel:c,overrides:{SOFTCAP:+(u!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:u??0},grid:oe(s)})}function nh(t,{vocabSize:e,stride:r,softcap:o}){if(H(t,{stride:r},4),H(t,{vocabSize:e},1),e>r)throw new D(t,`vocabSize is ${e}, expected at most the stride ${r}`);if(o!==null&&!(o>0))throw new D(t,`softcap is ${o}, expected a positive number or null`)}var _v={};function ar(t,e){return(r,o,n)=>t(e+r,o,n)}function mo(t){return ma(t).reduce((e,{sizeBytes:r})=>e+r,0)}function ur(t){return ma(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function ma(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:On(o,n)}),_v)),e}function Nt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Dn(t,e,r){let o=Nt(t.device),n=ma(e).find(({sizeBytes:i})=>i>o);if(n)throw sh(`${n.label} takes ${it(n.sizeBytes)}`,`${it(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,u)=>t.tensor(i,a,u));if(await t.device.popErrorScope()){let i=`${r.what} takes ${it(mo(e))}`;throw sh(i,"what the GPU has free",r)}return s}function it(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function sh(t,e,{what:r,remedy:o}){return new y(`Cannot allocate ${r}: ${t}, expected at most ${e}; ${o}`)}function ih(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,u=[o,n],c=ve(t)>0,l=Mt(t,e),f=ao(uo(e),l),d=ao(o*n,G(t));return{tokens:r("tokens",u),targets:r("targets",u),lossMask:r("lossMask",u),segmentStart:r("segmentStart",u),previous:t.keyShift?r("previous",u):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,embeddingRows:c?r("rows of tokens",[o,n,ne]):void 0,rowPlaces:c&&s?r("tokens of slots",[f]):void 0,slotRows:c&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function ah(t,e,r){let{extent:o,batch:n,weight:s}=r,i=G(r.config),{batchSize:a,sequenceLength:u}=o,c={...n,lossMask:xm(n,u)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(c[l]);b(f.length===a*u,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&b(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Ln(n.segmentStart,u)),e.tokenRows&&t.write(e.tokenRows,Pn(n.tokens,i)),e.embeddingRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.embeddingRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function Lt(t){return Math.ceil(G(t)/4)*4}function ha(t,e,r){let o=[],n=(c,l,f)=>{let d=r(c,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=wv(t,e,n),a=Ct(t,n),{dtype:u}=e;return{parameters:a,operands:lh(t,{parameters:a,dtype:u},n),gradients:e.training?ch(t,e,ar(n,"d ")):new Map,inputs:ih(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],u),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,Lt(t)]),losses:n("losses",[s])},backward:e.training?xv(t,{rows:s,dtype:u},n):void 0,lossSum:n("lossSum",[1]),all:o}}function ga(t){return new Map([...An(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?Lt(t):r,o]]))}function Ct(t,e){return new Map([...ga(t)].map(([r,o])=>[r,e(r,o)]))}function ch(t,e,r){let o=()=>["address_embed.weight",r("address_embed.weight",[Mt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([...ga(t)].map(([n,s])=>n==="address_embed.weight"?o():[n,r(n,s)]))}function lh(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of ga(t))s!=="wte.weight"&&s!=="address_embed.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function wv(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=uh(t,{rows:o,training:n,dtype:s},ar(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,u)=>{if(u===0||!n)return i;let c=ar(r,`layer ${u} `);return e.checkpointActivations?{...i,x:c("x",[o,t.width])}:{...uh(t,{rows:o,training:n,dtype:s},c),kUnshifted:i.kUnshifted}})}function uh(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{..._a(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function _a(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,u=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,u],o),k:n("k",[e,u],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,u],o),attention:n("attention",[e,u],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function xv(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,Lt(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}function wa(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:u,rttByteWeight:c}=r,l=r.batchSize*r.sequenceLength;Rt(t,{extent:r,tensors:o},{...fh,x:s.xLastNorm,y:s.logits}),oh(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:c,rows:l,...xa(e),...a?{dLogits:a.dLogits,teacher:n}:{},...u?{ordinal:{firstByte:11,weights:u}}:{}})}function xa(t){return{vocabSize:G(t),stride:Lt(t),softcap:t.softcap}}var fh={name:"lm_head.weight",label:"lm_head"};function dh(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:u,logits:c,rowIndex:l,logProbabilities:f}=s;Ot(t,{tokens:a,table:o,x:u,rows:i,width:r.width}),Rt(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...fh,x:u,y:c}),pa(t,{logits:c,rowIndex:l,out:f,numRows:i,...xa(r)})}async function ph(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,G(e)]),u=new Oe(t,"log-probabilities");pa(u,{logits:r,rowIndex:i,out:a,numRows:s,...xa(e)}),u.run();let[c]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return c}function yv(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function bv(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function mh(t,e,r){let o=Nt(t.device),n=s=>ur(i=>ha(e,{...r,batchSize:s},i))<=o;return await Dn(t,s=>ha(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":bv(yv(r.batchSize,n))})}function Bn(t,e,{parameters:r,weights:o}){let n=Tn(e);for(let s of o.keys())if(!n.has(s))throw ya(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let u=o.get(s);if(!u)throw ya(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(u.length!==i*a)throw ya(`${u.length} values of ${s}`,`a shape of [${i}, ${a}]`);let c=r.get(s);c&&t.write(c,u)}}async function hh(t,e,r){let o=await t.read(...r.values()),n=G(e);return new Map([...r].map(([s,i],a)=>{let c=s.startsWith("lm_head.weight")?n*e.width:$e(i);return[s,o[a].slice(0,c)]}))}function ya(t,e){return new y(`Cannot load the weights: found ${t}, expected ${e}; use the configuration they were trained with`)}function vv(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:u}=n;b(s,"a model without training has no backward pass");let c=o.batchSize*o.sequenceLength,l=r.width;ho(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),ba(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&Gm(t,e,d),Sv(t,e,{layer:d,backward:s}),kv(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:u.tokenRows,vocabSize:G(r),numUses:c},{name:"address_embed.weight",tokenRows:u.rowPlaces,vocabSize:Mt(r,o),numUses:uo(o)}];for(let{name:d,tokenRows:p,...m}of f){if(!p)continue;let g=B(a,d);_m(t,{tokenRows:p,dx:s.dx,dTable:g,rows:c,width:l,...m})}}function ho(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:u="store"}=o,c=B(r.operands,n),[l,f]=c.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");po(t,{kind:"NN",m:d,n:f,k:l,a:s,b:c,c:a,epilogue:u,label:`${p} dx`});let m=r.gradients.get(n);m&&po(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:m,epilogue:"accumulate",label:`${p} dW`})}function Sv(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:u}=e.tensors.layers[r];b(a,"a model without training keeps no argument of the activation"),ho(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:u,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),ho(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),ba(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function kv(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];ho(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),Mm(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...fa(n,s)});let u=Cn(n,s),{dqRotated:c,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:m,dNorm:g}=o,{previous:h}=i.inputs;h&&jm(t,{dy:l,previous:h,dx:f,...u}),la(t,{x:a.q,scale:a.qScale,dy:c,dx:d,...u}),la(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...u});for(let[w,x]of[["q",d],["k",p],["v",m]])ho(t,e,{name:`blocks.${r}.attn.${w}_proj.weight`,dy:x,x:a.xNorm,dx:g,epilogue:w==="q"?"store":"accumulate"});ba(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function ba(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;Um(t,{...s,dy:o,dx:n,rows:i,width:e})}var Zn=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#i;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.embeddingRows&&(this.#s=new mt(r));let i=o.freeRows!==void 0;this.#i=new Mn(Mt(r,o),uo(o),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,Xm()),this.#r=new Oe(e,"operand copies"),Km(this.#r,n),this.#o=new Oe(e,"evaluation"),ir(this.#o,this.#t),wa(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#c():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;b(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await mh(e.gpu,r,i),u=new t(e,r,i,a,n);return await e.ready(),u}async tune(e){for(let r of[this.#n,this.#o])r&&await e.tune(r);this.zeroGradients()}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){Bn(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await hh(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#i.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){b(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&co(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#i.claim(a),this.#l(wm(e,i,o),r,{isTraining:!0,ofTokens:a&&Pt(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="address_embed.weight"?this.#i.size:B(this.gradients,e).shape[0]}async profile(e,r){return b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#a(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#a(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(b(r.every(s=>s<this.#u),"a position is outside the batch"),r.length===0)return new Float32Array;this.#a(e);let{config:o,tensors:n}=this.#t;return await ph(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#a(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#u(){return this.extent.batchSize*this.extent.sequenceLength}#c(){let e=new Oe(this.registry,"forward and backward");ir(e,this.#t),wa(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return th(e,{x:r.losses,length:this.#u,out:o,accumulate:!0}),vv(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);ah(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??co(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#i.places(s);return{ofTokens:s,places:i,ofSlots:this.#i.rows}}};var va=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[lo]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=$e(n);vm(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,u=bm({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,u)}moments(e){return{expAvg:B(this.state,`${e}.exp_avg`),expAvgSq:B(this.state,`${e}.exp_avg_sq`)}}},Un=class extends va{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){b(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;km(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:B(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function gh(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,u=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*u)}var Ev=128,Av=32;function Tv(t,e){let r=Math.min(e,Ev);return{sequenceLength:r,batchSize:Math.min(Av,_h(t,r).length)}}function zv(t,e,{batchSize:r,sequenceLength:o}){let n=_h(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=$v(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:co(a,e,{sequenceLength:o,isTraining:!1})})}return s}function _h(t,e){let r=[],o=0;for(let n of t){let s=Ge(n,null);if(s>e)throw new y(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function $v(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let u of t[s]??[]){let c=new Ve(n.tokens,a).write(u,st);n.segmentStart.fill(a-i,a,a+c),n.targets.set(n.tokens.subarray(a+1,a+c),a),n.lossMask.fill(1,a+c-3,a+c-1),a+=c}n.segmentStart.fill(a-i,a,i+r)}return n}var Ov={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},Pv={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},wh=3,qz=7*32*wh,Mv=1e30;async function xh(t,e,r,o){let n=[];try{return await Iv(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function Iv(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,u=r.free.length,c=Tv(r.measurements,a),l=new Sa(r,e),f=Rv(r,c,l),d=await Zn.create(t,l.config(),{...c,training:!0,freeRows:u});o(d),d.load(l.weights());let p=B(d.parameters,Se),m=B(d.gradients,Se),g=new Un(s,{...Ov,learningRate:n.learningRate},[{name:Se,parameter:p,gradient:m}],d.slotRows),h=s.tensorFrom("anchors",[u,i],l.starts),w=s.tensorFrom("largest drifts",[u],Float32Array.from(r.free,({isKnown:K})=>K?n.maxDrift:Mv)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:K}of[h,w,x,...g.state.values()])o(K);let k=new Oe(t,"update of rows");g.add(k,x),Em(k,{table:p,anchors:h,limits:w,rows:u,width:i}),await t.ready();let I=Math.ceil(f[0].length/wh),A=(K,je)=>K.filter((de,xr)=>xr%I===je%I),O=K=>{let je=K.reduce((de,{batch:xr})=>de+xr.lossMask.reduce((W_,Y_)=>W_+Y_,0)/2,0);d.zeroGradients();for(let{batch:de,rows:xr}of K)d.accumulate(de,1/(2*je),xr);return je},R=async()=>{let K=O(A(f[0],0));return(await s.read(d.lossSum))[0][0]/K},q=await R();for(let K=0;K<n.steps;K++){n.signal?.throwIfAborted();let je=I===1?K:K+Math.floor(K/I);O(A(f[je%f.length],K));let de=gh(K,n.steps,Pv);g.prepare(K,{learningRate:de,weightDecay:0}),k.run(),await s.finish(),n.onProgress?.(K+1)}let te=await R(),ge=(await s.read(p))[0].slice(0,u*i),xt=zm(new Map([[Se,ge]]),Am);if(xt)throw new y(`Cannot adapt: after the fit ${xt}; lower --learning-rate`);return{values:ge,lossBefore:q,lossAfter:te}}var Sa=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===$)return $;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(Se)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[u,c]of this.#e)n.set(o.subarray(u*e,(u+1)*e),c*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(Se,n).set(ze,s),a=Tn(this.config());return new Map([...i].filter(([u])=>a.has(u)))}};function Rv(t,e,r){let{measurements:o,addressEmbeddings:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:u})=>u!==null)?[0,1]:[0]).map(u=>{let c=o.map((l,f)=>f%2===u?l:{...l,timeS:null});return zv(c,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?$:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(u=>u.map(({batch:c,withoutPairs:l})=>({batch:c,rows:l})))]}var Nv=50;async function yh(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let u=[...Lv(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasCoordinates(d)),c=new Set(u.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:m}]of u.entries()){performance.now()-f>Nv&&(await new Promise(w=>setTimeout(w,0)),f=performance.now()),n?.throwIfAborted();let g=[...m.values()].map(({other:w,ms:x})=>({node:t.nodeOf(w),rttMs:Cv(x)})),h=i.locate(g,c);h&&l.push({address:p,place:h}),s?.(d+1,u.length)}for(let{address:d,place:p}of l){let m=t.claimNode(d);m!==$&&a.set(m,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function Lv(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let u=ee(i),c=ee(a);if(s===null||u===c||!e.has(u))continue;let{rttsMs:l}=r.getOrInsertComputed(u,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(c,()=>({other:a,ms:[]})).ms.push(pn(s))}return r.values()}function Cv(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function bh(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[ee(r),r]))}function qn({source:t,destination:e},r){return r.has(ee(t))||r.has(ee(e))}function vh(t,e,r=new Set){let o=ka(t);return[...bh(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===$||r.has(s)}).map(([n])=>n)}async function Sh(t,e,r){let{addresses:o,adapted:n,...s}=r,i=ka(t),a=ka(t),u=new Map,c=[],l=[],f=bh(e),d=Zv(t),p=[...f.values()].map(h=>({address:h,row:i.rowOfAddress(h)})).filter(({row:h})=>h!==$),m=(h,w,x)=>{h===$||u.has(h)||u.set(h,{row:h,isKnown:!w&&!n.rows.has(h),start:x??d(h)})};for(let[h,w]of f){if(!o.has(h))continue;let x=i.rowOfAddress(w)===$,k=a.rowOfAddress(w,{claims:!0});m(k,x,x?Dv(w,p,d):void 0),(k===$?c:l).push(h)}let g=e.filter(h=>qn(h,o));for(let{source:h,destination:w}of g){let x=i.rowOfPair(h,w)===$;m(a.rowOfPair(h,w,{claims:!0}),x)}return{addressEmbeddings:a,free:[...u.values()],measurements:g,addresses:l,withoutRow:c,located:await yh(a,g,{...s,addresses:o,adaptedNodes:n.nodes})}}function Dv(t,e,r){let o=e.filter(u=>u.address.length===t.length),n=o.map(u=>Bv(u.address,t)),s=n.reduce((u,c)=>Math.max(u,c),0),i=o.filter((u,c)=>n[c]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:u}of i)r(u).forEach((c,l)=>a[l]+=c);return Float32Array.from(a,u=>u/i.length)}function Bv(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function ka({config:t,weights:e}){let r=new mt(t);return r.load(e),r}function Zv({config:{width:t},weights:e}){let r=B(e,Se);return o=>r.slice(o*t,(o+1)*t)}var Uv={steps:20,learningRate:.1,maxDrift:1};async function Eh(t,e,r,o={}){qv(e);let n=r.filter(({rttCode:h})=>h!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=vh(e,n,s.rows),onLocated:a,...u}=o,c=await Sh(e,n,{addresses:new Set(i),adapted:s,signal:u.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:c.addresses,withoutRow:c.withoutRow,numFailed:l};if(c.free.length===0){let h=kh(e,c,new Float32Array);return{...f,update:h,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:m}=await xh(t,e,c,{...Uv,...u}),g=kh(e,c,d);return{...f,update:g,numMeasurements:c.measurements.length,lossBefore:p,lossAfter:m}}function kh({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:u,rttCode:c,timeS:l}of r.measurements)c!==null&&r.addressEmbeddings.remember(r.addressEmbeddings.rowOfPair(a,u),{rttCode:c,timeS:l});let s=B(e,Se).slice();r.free.forEach(({row:a},u)=>s.set(o.subarray(n*u,n*(u+1)),n*a));let i=new Map(e).set(Se,s);return r.addressEmbeddings.save(i),pm(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function qv({config:t,weights:e}){if(!(ve(t)>0&&e.has(ze)))throw new y(`Cannot adapt the model: it has no address embeddings, expected one with them; train one with --set 'model.prefixVectors={"rows":65536}'`)}var jn=class{config;weights;rows;nodes;adaptation;#e;#t;#r;constructor(e,r,{adapted:o,trainingData:n}={}){this.config=e,this.weights=r,this.#r=new WeakSet,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes),this.#e=n,this.adaptation=n?.adaptation}get trainingData(){return this.#e&&{...this.#e,adaptation:this.adaptation}}async fit(e,r,o){let n=await Eh(e,this,r,{...o,adapted:this});this.weights=dm(this.config,this.weights,n.update);for(let s of n.update.rows)this.rows.add(s);for(let s of n.update.coordinates.nodes)this.nodes.add(s);return this.#o(r,n),n}#o(e,{addresses:r,withoutRow:o}){let[n,s]=[new Set(r),new Set(o)],i=this.#t??=this.adaptation?io.of(this.adaptation):new io;for(let u of e){let{source:c,destination:l,rttCode:f,timeS:d}=u;f===null||this.#r.has(u)||!qn(u,n)||qn(u,s)||(this.#r.add(u),i.add(i.id(c),i.id(l),d))}let a=i.summary({origin:"",isSynthetic:null});a.measurements>0&&(this.adaptation={summary:a,known:i.table()})}};async function jv(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var Fv=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],Ah=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,Fn=new Set;globalThis.addEventListener("unload",()=>go.blockUntilIdle());var go=class t{device;info;#e;#t;#r;#o;constructor(e,r){this.device=e,this.info=r,this.#r=0,this.#o=new WeakRef(this),Fn.add(this.#o),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new y("Cannot use WebGPU: no adapter was found, expected a GPU or software driver; run sh setup.sh to install one");if(Hv(r))throw new y(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), expected a Vulkan driver; run sh setup.sh to install one`);let o={};for(let d of Fv)o[d]=r.limits[d];let n=e.subgroups??!0?await Ea(r,o,["subgroups"])??await Ea(r,o,[]):await Ea(r,o,[]);if(!n)throw new y("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:u,subgroupMinSize:c,subgroupMaxSize:l}=i,f=a||i.device||`${u} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:u,subgroupSize:s&&c===l?c:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:Ah.test(`${f} ${a} ${u}`)})}tensor(e,r,o="f32"){let n=On(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){b(r.byteLength<=Ye(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return(await this.#s(e)).map((r,o)=>e[o].dtype==="f16"?Float32Array.from(new Float16Array(r)):new Float32Array(r))}async readUint32(e){return new Uint32Array((await this.#s([e]))[0])}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new y(`Cannot continue: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await jv(this.device.queue,r)}close(){this.#n(),Fn.delete(this.#o),this.device.destroy()}static blockUntilIdle(){for(let e of Fn){let r=e.deref();r?r.#n():Fn.delete(e)}}#n(){this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#s(e){let r=[],o=0;for(let s of e)r.push(o),o+=Math.ceil(Ye(s)/16)*16;let n=this.device.createBuffer({label:"readback",size:Math.max(16,o),usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST});try{let s=this.device.createCommandEncoder({label:"readback"});e.forEach((u,c)=>s.copyBufferToBuffer(u.buffer,u.offsetBytes,n,r[c],Math.ceil(Ye(u)/4)*4)),this.device.queue.submit([s.finish()]),await n.mapAsync(GPUMapMode.READ).catch(async u=>{throw await this.finish(),u});let i=n.getMappedRange(),a=e.map((u,c)=>i.slice(r[c],r[c]+Ye(u)));return this.check(),a}finally{n.destroy()}}};function Hv(t){return t.limits.maxBindingsPerBindGroup===4294967295&&Ah.test(`${t.info.description} ${t.info.vendor}`)}async function Ea(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var Aa="//! ";function Ue(t,e){return`${Aa}${t}
${e}`}function Ta(t){return t.replace(/\/\/(?!!).*$/gm,"")}function za(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(Aa)),i=n[s]?.slice(Aa.length);return new D(t,o,r-1-s,i)}function Th(t,e){let r=Ta(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,u,c])=>{if(i!=="0")throw new D(t,`binding ${c} is in group ${i}, expected 0`);let[l,f="read"]=u.split(",").map(d=>d.trim());return{name:c,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new D(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var zh=`// Prelude of the row kernels for adapters with subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES before this text. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var $h=`// Prelude of the row kernels for adapters without subgroups: a tree in workgroup memory, a fixed order.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES (a power of two) before this text. Calls must be in uniform control flow.
var<workgroup> lane_scratch: array<f32, LANES>;

fn lane_sum(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = lane_scratch[lane] + lane_scratch[lane + half];
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}

fn lane_max(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = max(lane_scratch[lane], lane_scratch[lane + half]);
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}
`;var Oh=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
// Bindings: x (rows, width) read; y (rows, width) write; scale (rows) write: 1 / sqrt(\u2026), for the backward pass.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    let v = x[base + i];
    sum += dot(v, v);
  }
  let s = inverseSqrt(lane_sum(sum, lane) / f32(params.width) + EPSILON);
  for (var i = lane; i < width4; i += LANES) {
    y[base + i] = x[base + i] * s;
  }
  if (lane == 0u) { scale[row] = s; }
}
`;var Ph=`// The epilogue of a matrix product p: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP also e = p; SLOPE c = p f'(d); with f relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU
// x / (1 + exp(-x)) (2); POLYNOMIAL c = 3.4445 I - 4.7750 d + 2.0315 p, Muon's polynomial of a Gram matrix d where p is
// its square. Part of gemm_subgroup8 and gemm_tiled, whose bindings and parameters it uses.
// Sources: So et al., Primer, NeurIPS 2021 (relu^2); Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv
//   1606.08415, section 2; Elfwing et al., Neural Networks 107 (2018) (SiLU); Jordan et al., Muon: An optimizer for
//   hidden layers in neural networks, 2024 (the polynomial).
// Numerics: f32; the argument of exp is at most 0 and that of tanh within [-10, 10], so nothing overflows.
override ACTIVATION: u32 = 0;

const SQRT_2_OVER_PI = 0.7978845608f;
const GELU_CUBIC = 0.044715f;

fn activation(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    let r = max(x, vec4f(0f));
    return r * r;
  }
  if (ACTIVATION == 1u) {
    let t = clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f));
    return 0.5f * x * (1f + tanh(t));
  }
  let power = exp(-abs(x));
  return x * select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
}

fn activation_slope(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    return 2f * max(x, vec4f(0f));
  }
  if (ACTIVATION == 1u) {
    let t = tanh(clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f)));
    let inner = SQRT_2_OVER_PI * (1f + 3f * GELU_CUBIC * x * x);
    return 0.5f * (1f + t) + 0.5f * x * (1f - t * t) * inner;
  }
  let power = exp(-abs(x));
  let sigmoid = select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
  return sigmoid * (1f + x * (1f - sigmoid));
}

const ACCUMULATE = 1u;
const ADD = 2u;
const ACTIVATE = 3u;
const ACTIVATE_KEEP = 4u;
const SLOPE = 5u;
const POLYNOMIAL = 6u;

// 4 columns of a row of the matrix that starts at c[first]; nothing past the end of the matrix.
fn store(first: u32, row: u32, column4: u32, value: vec4f) {
  if (row >= params.m || column4 >= params.n / 4u) { return; }
  let at = first + row * (params.n / 4u) + column4;
  var result = value;
  if (params.epilogue == ACCUMULATE) {
    result += c[at];
  } else if (params.epilogue == ADD || params.epilogue >= SLOPE) {
    let other = d[at];
    result = select(other + value, value * activation_slope(other), params.epilogue == SLOPE);
    let diagonal = vec4u(4u * column4) + vec4u(0u, 1u, 2u, 3u) == vec4u(row);
    let polynomial = select(vec4f(0f), vec4f(3.4445f), diagonal) - 4.7750f * other + 2.0315f * value;
    result = select(result, polynomial, params.epilogue == POLYNOMIAL);
  } else if (params.epilogue >= ACTIVATE) {
    result = activation(value);
    if (params.epilogue == ACTIVATE_KEEP) { e[at] = value; }
  }
  // One store for all epilogues: each store costs lavapipe's compiler a tenth of a second.
  c[at] = result;
}

// For a symmetric product, whose tiles above the diagonal are skipped: the number of sides on which a tile is stored.
fn num_sides(group: vec3u) -> u32 {
  return select(1u, 2u, params.symmetric == 1u && group.x < group.y);
}

// Rows row .. row + 3, or as side 1 their transpose, on the other side of the diagonal.
fn store4(first: u32, side: u32, row: u32, column4: u32, s: mat4x4f) {
  var at = vec2u(row, column4);
  var x = s;
  if (side == 1u) {
    at = vec2u(4u * column4, row / 4u);
    x = transpose(s);
  }
  store(first, at.x, at.y, x[0]);
  store(first, at.x + 1u, at.y, x[1]);
  store(first, at.x + 2u, at.y, x[2]);
  store(first, at.x + 3u, at.y, x[3]);
}
`;var Mh=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
//   p = p (1 - lr decay) - lr (m / correction1) / (sqrt(v / correction2) + epsilon); nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, in torch.optim's form.
// Bindings: gradient (length) read; hyper (8) read: lr, beta1, beta2, epsilon, decay, correction1 = 1 - beta1^t,
//   correction2 = 1 - beta2^t; clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v)
//   (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  if (factor == 0f) { return; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / hyper[5];
  let root_correction2 = inverseSqrt(hyper[6]);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    let g = gradient[i] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = parameter[i] * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
`;var Ih=`// One step of AdamW for some rows of a table, the others do not change. For slot s < slot_rows[0], of row
//   r = slot_rows[1 + s], with t = num_updates[r] + 1: g = clip gradient[s, :]; m += (1 - beta1) (g - m);
//   v += (1 - beta2) (g^2 - v); p = p (1 - lr decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon);
//   num_updates[r] = t. Nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, where a row's t counts
//   its own updates, so that its moments are corrected as if it were updated in every step.
// Bindings: slot_rows (1 + S) read; gradient (S, width) read; hyper (8) read: as in adamw.wgsl, but for the corrections;
//   clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v) (R, width) and num_updates (R)
//   read and write.
// Grid: one workgroup of LANES lanes per slot. Numerics: f32; beta^t by pow, so t is exact up to 2^24.
// Limits: width % 4 == 0; no row has two slots.
struct Params { width: u32, slots: u32 }

@group(0) @binding(0) var<storage, read> slot_rows: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(2) var<storage, read> hyper: array<f32>;
@group(0) @binding(3) var<storage, read> clip: array<f32>;
@group(0) @binding(4) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> num_updates: array<f32>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let slot = group.y * groups.x + group.x;
  let factor = clip[0];
  if (slot >= min(slot_rows[0], params.slots) || factor == 0f) { return; }
  let row = slot_rows[1u + slot];
  let t = num_updates[row] + 1f;
  storageBarrier();
  if (lane == 0u) { num_updates[row] = t; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / (1f - pow(hyper[1], t));
  let root_correction2 = inverseSqrt(1f - pow(hyper[2], t));
  let width4 = params.width / 4u;
  for (var column = lane; column < width4; column += LANES) {
    let i = row * width4 + column;
    let g = gradient[slot * width4 + column] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = parameter[i] * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
`;var Rh=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
// Bindings: indexes (rows, ROWS_PER_TOKEN) read; table (table_rows, width) read; x (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32, k ascending.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32, table_rows: u32 }

override ROWS_PER_TOKEN: u32 = 1u;

@group(0) @binding(0) var<storage, read> indexes: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  for (var k = 0u; k < ROWS_PER_TOKEN; k++) {
    let index = indexes[row * ROWS_PER_TOKEN + k];
    if (index >= params.table_rows) { continue; }
    for (var i = lane; i < width4; i += LANES) {
      x[row * width4 + i] += table[index * width4 + i];
    }
  }
}
`;var Nh=`// The optimizer's treatment of this step, from the sum of squares of all gradients:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is then skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = consecutive skipped steps up to now.
// If SCALED, the gradients are loss_scale[0] times too large: norm and out[0] are divided by it. A skipped step halves
// it, down to min_scale; growth_steps consecutive steps that are not skipped double it, up to max_scale. While it is
// larger than min_scale, skipped steps are not counted in out[3], since the next step has another scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (4) read and write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and the number of consecutive steps not skipped since it was set.
// Grid: one thread. Numerics: finiteness is read from the exponent bits, since WGSL may assume that there is no NaN.
struct Params { max_norm: f32, min_scale: f32, max_scale: f32, growth_steps: f32 }

override SCALED: bool = false;

@group(0) @binding(0) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> loss_scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EXPONENT_BITS = 0x7f800000u;

// Sets the scale of the next step; returns whether this one is skipped and another scale is left to try.
fn update_scale(is_finite: bool) -> bool {
  let scale = loss_scale[0];
  if (!is_finite) {
    let half = max(scale * 0.5f, params.min_scale);
    loss_scale[0] = half;
    loss_scale[1] = 0f;
    return half > params.min_scale;
  }
  let good_steps = loss_scale[1] + 1f;
  let grows = good_steps >= params.growth_steps;
  loss_scale[0] = select(scale, min(scale * 2f, params.max_scale), grows);
  loss_scale[1] = select(good_steps, 0f, grows);
  return false;
}

@compute @workgroup_size(1)
fn main() {
  let square = sum_of_squares[0];
  let is_finite = (bitcast<u32>(square) & EXPONENT_BITS) != EXPONENT_BITS;
  var norm = sqrt(square);
  var unscale = 1f;
  var tries_again = false;
  if (SCALED) {
    unscale = 1f / loss_scale[0];
    norm *= unscale;
    tries_again = update_scale(is_finite);
  }
  out[1] = norm;
  if (is_finite) {
    out[0] = params.max_norm / max(norm, params.max_norm) * unscale;
    out[3] = 0f;
  } else {
    out[0] = 0f;
    out[2] += 1f;
    if (!tries_again) { out[3] += 1f; }
  }
}
`;var Lh=`// y = x, between tensors of different storage formats, such as f16 copies of weights.
// Bindings: x (length) read; y (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: a copy.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    y[i] = x[i];
  }
}
`;var Ch=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows in the order of their tokens, those of token v at the indexes
//   token_rows[v] .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
// Numerics: f32, rows ascending; no atomics, so results are bit-identical in every run.
// Limits: width % 4 == 0.
struct Params { width: u32 }

@group(0) @binding(0) var<storage, read> token_rows: array<u32>;
@group(0) @binding(1) var<storage, read> dx: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> d_table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token = group.x;
  let end = token_rows[token + 1u];
  let width4 = params.width / 4u;
  let first = group.y * 4u * LANES + lane;
  let columns = min(vec4u(first, first + LANES, first + 2u * LANES, first + 3u * LANES), vec4u(width4 - 1u));
  var sums = mat4x4f();
  for (var i = token_rows[token]; i < end; i++) {
    let at = vec4u(token_rows[i] * width4) + columns;
    sums += mat4x4f(dx[at.x], dx[at.y], dx[at.z], dx[at.w]);
  }
  for (var i = 0u; i < 4u; i++) {
    let column = first + i * LANES;
    if (column < width4) { d_table[token * width4 + column] += sums[i]; }
  }
}
`;var Dh=`// x[r, :] = table[tokens[r], :]
// Bindings: tokens (rows) read; table (vocabulary, width) read; x (rows, width) write.
// Grid: one workgroup of LANES lanes per row. Numerics: a copy.
// Limits: width % 4 == 0; every token is within the table.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> tokens: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let token = tokens[row];
  for (var i = lane; i < width4; i += LANES) {
    x[row * width4 + i] = table[token * width4 + i];
  }
}
`;var Bh=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not.
// For adapters whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs 40 times as much as a vector fma,
// and a subgroupBroadcast about as much as one, so each lane loads a 4 x 4 block of A and one of B per 4 steps of k,
// and the blocks of A are distributed by broadcast. Measured on 2 cores of lavapipe (Mesa 25.0): see
// lib/tensor/ops/gemm.ts.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of 8 lanes a tile, lane l owns the columns
//   4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3, a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into the matrix;
//   duplicated values are not stored, or are multiplied by 0 if k is not a multiple of 4. (Without the clamps it is
//   slower.) If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above
//   are skipped.
// Limits: n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, symmetric: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// Column j: the 4 steps of k from k4 * 4 of row row0 + j of op(A), which starts at a[first].
fn load_a(first: u32, row0: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let column = min(row0 / 4u, m4 - 1u);
    let k = vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(k, vec4u(params.k - 1u)) * m4 + column;
    let keep = vec4f(k < vec4u(params.k));
    return transpose(mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w));
  }
  let rows = min(vec4u(row0) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * (params.k / 4u) + k4;
  return mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]);
}

// Column i: row k4 * 4 + i of op(B), which starts at b[first], at the lane's 4 columns.
fn load_b(first: u32, column4: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_B) {
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * (params.k / 4u) + k4;
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let k = min(vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u));
  let at = first + k * (params.n / 4u) + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let row = group.y * 32u;
  let column4 = group.x * 8u + lane;
  let n4 = params.n / 4u;
  let b_column4 = min(column4, n4 - 1u);
  let first_a = group.z * params.stride_a;
  let first_b = group.z * params.stride_b;
  var s = array<mat4x4f, 8>();
  let k_end = (params.k + 3u) / 4u;
  for (var k4 = 0u; k4 < k_end; k4++) {
    let x = load_a(first_a, row + lane * 4u, k4);
    let y = load_b(first_b, b_column4, k4);
    s[0] += y * mat4x4f(subgroupBroadcast(x[0], 0u), subgroupBroadcast(x[1], 0u),
                        subgroupBroadcast(x[2], 0u), subgroupBroadcast(x[3], 0u));
    s[1] += y * mat4x4f(subgroupBroadcast(x[0], 1u), subgroupBroadcast(x[1], 1u),
                        subgroupBroadcast(x[2], 1u), subgroupBroadcast(x[3], 1u));
    s[2] += y * mat4x4f(subgroupBroadcast(x[0], 2u), subgroupBroadcast(x[1], 2u),
                        subgroupBroadcast(x[2], 2u), subgroupBroadcast(x[3], 2u));
    s[3] += y * mat4x4f(subgroupBroadcast(x[0], 3u), subgroupBroadcast(x[1], 3u),
                        subgroupBroadcast(x[2], 3u), subgroupBroadcast(x[3], 3u));
    s[4] += y * mat4x4f(subgroupBroadcast(x[0], 4u), subgroupBroadcast(x[1], 4u),
                        subgroupBroadcast(x[2], 4u), subgroupBroadcast(x[3], 4u));
    s[5] += y * mat4x4f(subgroupBroadcast(x[0], 5u), subgroupBroadcast(x[1], 5u),
                        subgroupBroadcast(x[2], 5u), subgroupBroadcast(x[3], 5u));
    s[6] += y * mat4x4f(subgroupBroadcast(x[0], 6u), subgroupBroadcast(x[1], 6u),
                        subgroupBroadcast(x[2], 6u), subgroupBroadcast(x[3], 6u));
    s[7] += y * mat4x4f(subgroupBroadcast(x[0], 7u), subgroupBroadcast(x[1], 7u),
                        subgroupBroadcast(x[2], 7u), subgroupBroadcast(x[3], 7u));
  }
  if (column4 >= n4) { return; }
  // A bound unknown to the compiler: unrolled stores take 4 s to compile instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
`;var Zh=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any adapter.
// One tile of C per workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of
// C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; values
//   beyond m and n are not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above are
//   skipped.
// Limits: split_k % 16 == 0; n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; TILE is 64 or 128;
//   m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32, split_k: u32,
  symmetric: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;
override TILE: u32 = 64;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const TILE_K = 16u;
override TILE4: u32 = TILE / 4u;
override THREADS_X: u32 = TILE / 8u;
override THREADS: u32 = THREADS_X * THREADS_X;

// Row k of the tile: TILE rows of op(A), or TILE columns of op(B).
var<workgroup> tile_a: array<vec4f, TILE_K * TILE4>;
var<workgroup> tile_b: array<vec4f, TILE_K * TILE4>;

// Column i: step k + i of k, at the rows row .. row + 3 of op(A), which starts at a[first].
fn load_a(first: u32, row: u32, k: u32) -> mat4x4f {
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let steps = vec4u(k) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(steps, vec4u(params.k - 1u)) * m4 + min(row / 4u, m4 - 1u);
    let keep = vec4f(steps < vec4u(params.k));
    return mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w);
  }
  let k4 = params.k / 4u;
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * k4 + min(k / 4u, k4 - 1u);
  return transpose(mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]) * f32(k < params.k));
}

// Column i: step k + i of k, at the columns column .. column + 3 of op(B), which starts at b[first].
fn load_b(first: u32, column: u32, k: u32) -> mat4x4f {
  let n4 = params.n / 4u;
  let column4 = min(column / 4u, n4 - 1u);
  if (TRANSPOSE_B) {
    let k4 = params.k / 4u;
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * k4 + min(k / 4u, k4 - 1u);
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let at = first + min(vec4u(k) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u)) * n4 + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

// Row j of a 4 x 4 block: sum + x[j] y.
fn outer(sum: mat4x4f, x: vec4f, y: vec4f) -> mat4x4f {
  return mat4x4f(fma(x.xxxx, y, sum[0]), fma(x.yyyy, y, sum[1]), fma(x.zzzz, y, sum[2]), fma(x.wwww, y, sum[3]));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  let row = group.y * TILE;
  let column = group.x * TILE;
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread loads at most one.
  let carries = thread < TILE4 * 4u;
  let a_at = vec2u(thread / 4u, thread % 4u);
  let b_at = vec2u(thread % TILE4, min(thread / TILE4, 3u));
  let first_a = group.z / params.splits * params.stride_a;
  let first_b = group.z / params.splits * params.stride_b;
  let k_begin = group.z % params.splits * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k);
  var next_a = load_a(first_a, row + a_at.x * 4u, k_begin + a_at.y * 4u);
  var next_b = load_b(first_b, column + b_at.x * 4u, k_begin + b_at.y * 4u);
  var s00 = mat4x4f();
  var s01 = mat4x4f();
  var s10 = mat4x4f();
  var s11 = mat4x4f();
  for (var k = k_begin; k < k_end; k += TILE_K) {
    workgroupBarrier();
    if (carries) {
      let to_a = a_at.y * 4u * TILE4 + a_at.x;
      let to_b = b_at.y * 4u * TILE4 + b_at.x;
      tile_a[to_a] = next_a[0];
      tile_a[to_a + TILE4] = next_a[1];
      tile_a[to_a + 2u * TILE4] = next_a[2];
      tile_a[to_a + 3u * TILE4] = next_a[3];
      tile_b[to_b] = next_b[0];
      tile_b[to_b + TILE4] = next_b[1];
      tile_b[to_b + 2u * TILE4] = next_b[2];
      tile_b[to_b + 3u * TILE4] = next_b[3];
    }
    workgroupBarrier();
    next_a = load_a(first_a, row + a_at.x * 4u, k + TILE_K + a_at.y * 4u);
    next_b = load_b(first_b, column + b_at.x * 4u, k + TILE_K + b_at.y * 4u);
    for (var i = 0u; i < TILE_K; i++) {
      let x0 = tile_a[i * TILE4 + ty * 2u];
      let x1 = tile_a[i * TILE4 + ty * 2u + 1u];
      let y0 = tile_b[i * TILE4 + tx];
      let y1 = tile_b[i * TILE4 + tx + THREADS_X];
      s00 = outer(s00, x0, y0);
      s01 = outer(s01, x0, y1);
      s10 = outer(s10, x1, y0);
      s11 = outer(s11, x1, y1);
    }
  }
  let column4 = column / 4u + tx;
  let first_c = group.z * params.stride_c;
  for (var side = 0u; side < num_sides(group); side++) {
    store4(first_c, side, row + ty * 8u, column4, s00);
    store4(first_c, side, row + ty * 8u, column4 + THREADS_X, s01);
    store4(first_c, side, row + ty * 8u + 4u, column4, s10);
    store4(first_c, side, row + ty * 8u + 4u, column4 + THREADS_X, s11);
  }
}
`;var Uh=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum in Muon's form.
// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; the form of torch.optim.Muon.
// Bindings: gradient (length) read; hyper read: mu at 0, see muon_update.wgsl; clip read: factor at 0, see
//   clip_factor.wgsl; momentum (length) read and write, unchanged where clip == 0; x write, from x[first4] on.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32, first4: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> momentum: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  let mu = hyper[0];
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    if (factor == 0f) {
      // The gradient may hold NaN; the update will be skipped, x only has to be finite.
      x[params.first4 + i] = momentum[i];
      continue;
    }
    let g = gradient[i] * factor;
    let m = momentum[i] + (1f - mu) * (g - momentum[i]);
    momentum[i] = m;
    x[params.first4 + i] = g + mu * (m - g);
  }
}
`;var qh=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
// Source: as muon_momentum.wgsl; epsilon 1e-7 as torch.optim.Muon.
// Bindings: x (count, length) read; sum_of_squares (count) read; y (count, length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart, times z = count. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;
const EPSILON = 1e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = 1f / max(sqrt(sum_of_squares[group.z]), EPSILON);
  let first = group.z * (params.length / 4u);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    y[first + i] = x[first + i] * factor;
  }
}
`;var jh=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
// Source: as muon_momentum.wgsl; decoupled weight decay, shape_factor = sqrt(max(1, rows / columns)).
// Bindings: x read, from x[first4] on; hyper (4) read: mu, lr, decay, unused; clip read: factor at 0, see clip_factor.wgsl;
//   parameter (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32, first4: u32, shape_factor: f32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  if (clip[0] == 0f) { return; }
  let keep = 1f - hyper[1] * hyper[2];
  let step = hyper[1] * params.shape_factor;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    parameter[i] = parameter[i] * keep - step * x[params.first4 + i];
  }
}
`;var Fh=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
// else z = logits; and if GRADIENT, d_logits[r, :] = weight[0] * the gradient of losses[r], times loss_scale[0] if SCALED.
// Columns from vocab_size on are padding: they are not read into the softmax and their gradient is 0. Probabilities are
// not stored.
// Where loss_mask[r] is 2 or 3, d_logits is multiplied by marked_weight; the written loss is not.
// If TAUGHT, where loss_mask[r] is 2 or 3, the gradient is (1 - teacher_weight) times that of the data, including the
//   term below, plus teacher_weight times that of the cross-entropy to q = softmax(z of teacher_logits[r, :]), whose s
//   is teacher_softcap, 0 for none.
// Where loss_mask[r] is 2 or 3 and ordinal_2 or ordinal_3 is not 0, d_logits also has ordinal_i times the gradient of
// sum_j q_j |j - target| / 255, q the softmax over the 256 columns from first_byte on: the Wasserstein-1 distance between
// q and the target's point mass. The written loss is still the cross-entropy.
// Source: Gemma Team, Gemma 2, 2024, section 2 (softcap); Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018; Hou, Yu and Samaras, Squared earth mover's distance-based loss, 2016, section 3 (distance of ordered classes);
//   Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015 (teacher, at temperature 1).
// Bindings: logits (rows, stride) read; targets, loss_mask (rows) read; weight (1) read; losses (rows) write;
//   d_logits (rows, stride) write if GRADIENT; loss_scale (1) read if SCALED; teacher_logits (rows, stride) read if TAUGHT.
// Grid: one workgroup of LANES lanes per row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh(x) = 1 - 2 / (e^(2 x) + 1), which is
//   exact to 2^-23 absolutely and does not overflow.
// Limits: stride % 4 == 0; targets < vocab_size <= stride; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, vocab_size: u32, stride: u32, softcap: f32, first_byte: u32, ordinal_2: f32, ordinal_3: f32,
  marked_weight: f32, teacher_weight: f32, teacher_softcap: f32 }

override SOFTCAP: bool = true;
override GRADIENT: bool = true;
override SCALED: bool = false;
override TAUGHT: bool = false;

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> loss_mask: array<u32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_logits: array<vec4f>;
@group(0) @binding(6) var<storage, read> loss_scale: array<f32>;
@group(0) @binding(7) var<storage, read> teacher_logits: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const PADDING = -1e30f;

// tanh(logits / s), or the logits themselves.
fn squash(x: vec4f) -> vec4f {
  if (!SOFTCAP) { return x; }
  return 1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f);
}

// The scores of the teacher: its z in units of log 2, so that 2^score = e^z.
fn teacher_scores(at: u32) -> vec4f {
  let x = teacher_logits[at];
  let s = params.teacher_softcap;
  if (s == 0f) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / s)) + 1f)) * (LOG2_E * s);
}

// log2 of the sum of 2^score of the teacher over the columns of the row that starts at base.
fn teacher_log2_sum_of(base: u32, lane: u32) -> f32 {
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), teacher_scores(base + i), is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  return top + log2(lane_sum(sum * exp2(largest - top), lane));
}

// |column - target| / 255 of the columns that are bytes.
fn distance(columns: vec4u, target_column: u32) -> vec4f {
  return abs(vec4f(columns) - f32(target_column)) / 255f;
}

fn is_byte(columns: vec4u) -> vec4<bool> {
  return columns - params.first_byte < vec4u(256u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.stride / 4u;
  let base = row * width4;
  if (loss_mask[row] == 0u) {
    if (lane == 0u) { losses[row] = 0f; }
    if (GRADIENT) {
      for (var i = lane; i < width4; i += LANES) { d_logits[base + i] = vec4f(0f); }
    }
    return;
  }
  // Scores are z in units of log 2, so that 2^score = e^z.
  let unit = select(LOG2_E, LOG2_E * params.softcap, SOFTCAP);
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), squash(logits[base + i]) * unit, is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  let target_column = targets[row];
  if (lane == 0u) {
    let score = squash(logits[base + target_column / 4u])[target_column % 4u] * unit;
    losses[row] = (log2_sum - score) * LN_2;
  }
  if (!GRADIENT) { return; }
  let kind = loss_mask[row];
  let taught = select(0f, params.teacher_weight, TAUGHT && kind >= 2u);
  var teacher_log2_sum = 0f;
  if (taught > 0f) { teacher_log2_sum = teacher_log2_sum_of(base, lane); }
  let ordinal = (1f - taught) *
    (select(0f, params.ordinal_2, kind == 2u) + select(0f, params.ordinal_3, kind == 3u));
  // Of the probability p of all bytes and the mean distance under it: ordinal / p, and ordinal * mean / p.
  var scale = 0f;
  var offset = 0f;
  if (ordinal > 0f) {
    var mass = 0f;
    var moment = 0f;
    for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
      let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
      let p = exp2(squash(logits[base + i]) * unit - log2_sum);
      let kept = select(vec4f(0f), p, is_byte(columns) & (columns < vec4u(params.vocab_size)));
      mass += dot(kept, vec4f(1f));
      moment += dot(kept, distance(columns, target_column));
    }
    // The probability of all bytes can underflow float32; the term is then 0.
    mass = max(lane_sum(mass, lane), 1e-30f);
    scale = ordinal / mass;
    offset = scale * lane_sum(moment, lane) / mass;
  }
  var factor = weight[0];
  if (kind >= 2u) { factor *= params.marked_weight; }
  if (SCALED) { factor *= loss_scale[0]; }
  for (var i = lane; i < width4; i += LANES) {
    let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
    let squashed = squash(logits[base + i]);
    let p = exp2(squashed * unit - log2_sum);
    var wanted = vec4f(columns == vec4u(target_column));
    if (taught > 0f) { wanted = mix(wanted, exp2(teacher_scores(base + i) - teacher_log2_sum), taught); }
    var d = p - wanted;
    d += select(vec4f(0f), p * (scale * distance(columns, target_column) - offset), is_byte(columns));
    if (SOFTCAP) { d *= 1f - squashed * squashed; }
    d_logits[base + i] = select(vec4f(0f), d * factor, columns < vec4u(params.vocab_size));
  }
}
`;var Hh=`// Limits the distance of a table's rows from their anchors: for row r < params.rows, d = table[r, :] - anchors[r, :];
//   where |d| > limits[r], table[r, :] = anchors[r, :] + d limits[r] / |d|.
// Bindings: anchors (rows, width) read; limits (rows) read; table (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> anchors: array<vec4f>;
@group(0) @binding(1) var<storage, read> limits: array<f32>;
@group(0) @binding(2) var<storage, read_write> table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    let d = table[base + i] - anchors[base + i];
    sum += dot(d, d);
  }
  let distance = sqrt(lane_sum(sum, lane));
  let limit = limits[row];
  if (distance <= limit) { return; }
  for (var i = lane; i < width4; i += LANES) {
    table[base + i] = anchors[base + i] + (table[base + i] - anchors[base + i]) * (limit / distance);
  }
}
`;var Kh=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
// vocab_size on are padding and ignored.
// Source: as cross_entropy.wgsl, whose losses these are.
// Bindings: logits (rows, stride) read; row_index (n) read; out (n, vocab_size) write.
// Grid: one workgroup of LANES lanes per chosen row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh as in cross_entropy.wgsl.
// Limits: row_index < rows; n <= 65535 * 65535 through a two-dimensional grid.
struct Params { num_rows: u32, vocab_size: u32, stride: u32, softcap: f32 }

override SOFTCAP: bool = true;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> row_index: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const LOWEST = -1e30f;

// z in units of log 2, so that 2^score = e^z.
fn score_of(x: f32) -> f32 {
  if (!SOFTCAP) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f)) * params.softcap * LOG2_E;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let i = group.y * groups.x + group.x;
  if (i >= params.num_rows) { return; }
  let base = row_index[i] * params.stride;
  var largest = LOWEST;
  var sum = 0f;
  for (var column = lane; column < params.vocab_size; column += LANES) {
    let score = score_of(logits[base + column]);
    let new_largest = max(largest, score);
    sum = fma(sum, exp2(largest - new_largest), exp2(score - new_largest));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  for (var column = lane; column < params.vocab_size; column += LANES) {
    out[i * params.vocab_size + column] = (score_of(logits[base + column]) - log2_sum) * LN_2;
  }
}
`;var Gh=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
// or dz if not NORM.
// Source: the derivative of qk_norm_rope_forward.wgsl; a rotation's transpose is its inverse.
// Bindings: x, dy (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; scale (rows, H) read if NORM: s
//   of the forward pass; dx (rows, H, D) write.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32. Limits: D = head_dim is a multiple of 8.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32 }

override NORM: bool = true;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation turns into one another.
struct Pair { first: vec4f, second: vec4f }

// Pairs that stay in registers between the sum and the result: all for D <= 32; those beyond are read twice.
const NUM_KEPT = 4u;

fn x_pair(at: u32) -> Pair {
  if (!NORM) { return Pair(vec4f(0), vec4f(0)); }
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

// The gradient with respect to the normalised x.
fn dz_pair(at: u32, table: u32) -> Pair {
  let d1 = dy[at];
  let d2 = dy[at + params.head_dim / 8u];
  let cosine = rotation[table];
  let sine = rotation[table + 1u];
  return Pair(d1 * cosine + d2 * sine, d2 * cosine - d1 * sine);
}

fn dot_pairs(a: Pair, b: Pair) -> f32 {
  return dot(a.first, b.first) + dot(a.second, b.second);
}

fn store_dx(at: u32, of_x: Pair, of_dz: Pair, s: f32, slope: f32) {
  dx[at] = (of_dz.first - of_x.first * slope) * s;
  dx[at + params.head_dim / 8u] = (of_dz.second - of_x.second * slope) * s;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let num_pairs = params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  var kept_x: array<Pair, NUM_KEPT>;
  var kept_dz: array<Pair, NUM_KEPT>;
  var sum = 0f;
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) {
      kept_x[i] = x_pair(first + i);
      kept_dz[i] = dz_pair(first + i, table + 2u * i);
      sum += dot_pairs(kept_x[i], kept_dz[i]);
    }
  }
  var s = 1f;
  var slope = 0f;
  if (NORM) {
    for (var i = NUM_KEPT; i < num_pairs; i++) {
      sum += dot_pairs(x_pair(first + i), dz_pair(first + i, table + 2u * i));
    }
    s = scale[head];
    slope = sum / f32(params.head_dim) * s * s;
  }
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) { store_dx(first + i, kept_x[i], kept_dz[i], s, slope); }
  }
  for (var i = NUM_KEPT; i < num_pairs; i++) {
    store_dx(first + i, x_pair(first + i), dz_pair(first + i, table + 2u * i), s, slope);
  }
}
`;var Vh=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32; cosines and sines come from the host, since WGSL's are accurate only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32 }

override NORM: bool = true;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let second = first + params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  var s = 1f;
  if (NORM) {
    var sum = 0f;
    for (var i = 0u; i < params.head_dim / 8u; i++) {
      let x1 = x[first + i];
      let x2 = x[second + i];
      sum += dot(x1, x1) + dot(x2, x2);
    }
    s = inverseSqrt(sum / f32(params.head_dim) + EPSILON);
    scale[head] = s;
  }
  for (var i = 0u; i < params.head_dim / 8u; i++) {
    let x1 = x[first + i] * s;
    let x2 = x[second + i] * s;
    let cosine = rotation[table + 2u * i];
    let sine = rotation[table + 2u * i + 1u];
    y[first + i] = x1 * cosine - x2 * sine;
    y[second + i] = x1 * sine + x2 * cosine;
  }
}
`;var Wh=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows whose \`previous\` it is: itself or the next.
// Source: the derivative of shift_keys_forward.wgsl.
// Bindings: dy (rows, H, D) read; previous (rows) read: r or r - 1; dx (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH of them a thread, 64 apart. Numerics: f32, a sum of two at most.
// Limits: D % 16 == 0.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> previous: array<u32>;
@group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let row = i / params.row_vec4;
    let next = i + params.row_vec4;
    var d = dy[i];
    if (i % params.row_vec4 / params.quarter_vec4 % 2u == 1u) {
      if (previous[row] != row) { d = vec4f(0f); }
      if (next < params.num_vec4) {
        if (previous[row + 1u] == row) { d += dy[next]; }
      }
    }
    dx[i] = d;
  }
}
`;var Yh=`// y = x, except for the 2nd and the 4th quarter of each head, which come from another token:
// y[r, h, d] = earlier[previous[r], h, d] there.
// Source: the "partial key offset" of modded-nanogpt (github.com/KellerJordan/modded-nanogpt, records of 2025): a key
//   that contains a part of the token before it lets one block find the successor of a token (Olsson et al., In-context
//   Learning and Induction Heads, 2022, "smeared keys").
// Bindings: x (rows, H, D) read; earlier (any, H, D) read, may be x; previous (rows) read; y (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH of them a thread, 64 apart. Numerics: a copy.
// Limits: D % 16 == 0; previous[r] is a row of earlier.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> earlier: array<vec4f>;
@group(0) @binding(2) var<storage, read> previous: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let column = i % params.row_vec4;
    if (column / params.quarter_vec4 % 2u == 1u) {
      y[i] = earlier[previous[i / params.row_vec4] * params.row_vec4 + column];
    } else {
      y[i] = x[i];
    }
  }
}
`;var Jh=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (splits, length) read; c (length) write, also read if accumulate == 1.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32, splits ascending, so results are bit-identical in every run.
// Limits: length % 4 == 0.
struct Params { length: u32, splits: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let length4 = params.length / 4u;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, length4);
  for (var i = start; i < end; i += 64u) {
    var sum = partials[i];
    for (var split = 1u; split < params.splits; split++) {
      sum += partials[split * length4 + i];
    }
    if (params.accumulate == 1u) { sum += c[i]; }
    c[i] = sum;
  }
}
`;var Xh=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// In a batch, row z of x is summed in the same way; its partials follow those of row z - 1.
// Bindings: x (batch, length) read; partials write, from \`first\` on num_partials a row, added to if accumulate == 1.
// Grid: num_partials workgroups of LANES lanes, by gridOf, times z = batch. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x is allocated for a multiple of 4 elements (like every tensor); elements beyond length are ignored.
//   In a batch of several rows, length % 4 == 0.
struct Params { length: u32, first: u32, num_partials: u32, accumulate: u32 }

override SQUARE: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

fn term(v: vec4f) -> vec4f {
  if (SQUARE) { return v * v; }
  return v;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let part = group.y * groups.x + group.x;
  if (part >= params.num_partials) { return; }
  let length4 = (params.length + 3u) / 4u;
  let part4 = (length4 + params.num_partials - 1u) / params.num_partials;
  let whole4 = params.length / 4u;
  let x0 = group.z * whole4;
  let at = params.first + group.z * params.num_partials + part;
  var sums = vec4f();
  for (var i = part * part4 + lane; i < min((part + 1u) * part4, whole4); i += LANES) {
    sums += term(x[x0 + i]);
  }
  // The last, incomplete vec4.
  if (part == params.num_partials - 1u && lane == 0u && whole4 < length4) {
    sums += select(vec4f(), term(x[whole4]), vec4u(0u, 1u, 2u, 3u) < vec4u(params.length % 4u));
  }
  let total = lane_sum(dot(sums, vec4f(1f)), lane);
  if (lane == 0u) {
    if (params.accumulate == 1u) {
      partials[at] += total;
    } else {
      partials[at] = total;
    }
  }
}
`;var Qh=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: one workgroup of LANES lanes per ROWS_PER_GROUP rows, one after another.
// Numerics: f32; x dy is summed per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 4 * 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const ROWS_PER_GROUP = 4u;
// The number of vec4 columns of a lane that stay in registers between the sum and the result; those beyond are read
// twice.
const NUM_KEPT = 4u;

fn store_dx(i: u32, of_x: vec4f, of_dy: vec4f, s: f32, slope: f32) {
  var value = (of_dy - of_x * slope) * s;
  if (params.accumulate == 1u) { value += dx[i]; }
  dx[i] = value;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let first_row = (group.y * groups.x + group.x) * ROWS_PER_GROUP;
  let end_row = min(first_row + ROWS_PER_GROUP, params.rows);
  let width4 = params.width / 4u;
  for (var row = first_row; row < end_row; row++) {
    let first = row * width4 + lane;
    let end = (row + 1u) * width4;
    var kept_x: array<vec4f, NUM_KEPT>;
    var kept_dy: array<vec4f, NUM_KEPT>;
    var sum = 0f;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) {
        kept_x[k] = x[i];
        kept_dy[k] = dy[i];
        sum += dot(kept_x[k], kept_dy[k]);
      }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      sum += dot(x[i], dy[i]);
    }
    let s = scale[row];
    let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) { store_dx(i, kept_x[k], kept_dy[k], s, slope); }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      store_dx(i, x[i], dy[i], s, slope);
    }
  }
}
`;var eg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_subgroup8.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole keys; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) key tiles, y = H, z = B; one subgroup a tile; key n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override KEYS: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_q(at: u32) -> mat4x4f { return mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]); }
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn load_query(slice: u32, at: u32, query: ptr<function, Tile>, d_query: ptr<function, Tile>) {
  if (slice >= SLICES) { return; }
  (*query).slice[slice] = load_q(at + slice * 8u);
  (*d_query).slice[slice] = load_d_out(at + slice * 8u);
}

fn spread_row(x: f32) -> vec4f {
  return vec4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

fn spread_starts(x: u32) -> vec4u {
  return vec4u(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

// Values of the tile's queries.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

// For the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
// without the factor 1 / sqrt(D).
fn gradients(n: u32, key: u32, queries: Queries, s: ptr<function, Scores>, dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let visible = (queries.start <= vec4u(key)) & (vec4u(key) <= queries.t) &
    (queries.t < vec4u(params.sequence_length));
  let weight = select(vec4f(0f), exp2((*s).row[n] - queries.log2_sum), visible);
  (*s).row[n] = weight;
  (*dp).row[n] = weight * ((*dp).row[n] - queries.delta);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The key of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let keys = min(wanted, vec4u(length - 1u));
  let at = head0 + keys * stride;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slots();
  var value = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    key.part[i] = k[source] * (scale * LOG2_E);
    value.part[i] = v[source];
  }
  var d_key = Slots();
  var d_value = Slots();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first / 4u * 4u; t < length; t += 4u) {
    if (segment_start[row0 + t] > last) { break; }
    let own_t = min(t + lane % 4u, length - 1u);
    let row = (row0 + own_t) * params.num_heads + group.y;
    let queries = Queries(t + vec4u(0u, 1u, 2u, 3u), spread_starts(segment_start[row0 + own_t]),
      spread_row(log_sum_exp[row]) * LOG2_E, spread_row(delta[row]));
    let source = head0 + own_t * stride + lane / 4u * 4u;
    var query = Tile();
    var d_query = Tile();
    load_query(0u, source, &query, &d_query);
    load_query(1u, source, &query, &d_query);
    load_query(2u, source, &query, &d_query);
    load_query(3u, source, &query, &d_query);
    var s = score(&key, &query);
    var dp = score(&value, &d_query);
    gradients(0u, keys.x, queries, &s, &dp);
    gradients(1u, keys[SLICES % 4u], queries, &s, &dp);
    gradients(2u, keys[2u * SLICES % 4u], queries, &s, &dp);
    gradients(3u, keys[3u * SLICES % 4u], queries, &s, &dp);
    weigh(&s, &d_query, &d_value);
    weigh(&dp, &query, &d_key);
  }
  var d_key_result = d_key;
  var d_value_result = d_value;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      let target_part = at[i / 8u] + i % (SLICES * 8u);
      dk[target_part] = d_key_result.part[i] * scale;
      dv[target_part] = d_value_result.part[i];
    }
  }
}
`;var tg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_tiled.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) key tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override KEYS: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

// The segment start of each query of the tile; past the sequence's end, a start that no key reaches.
var<workgroup> tile_start: array<u32, 16>;
var<workgroup> tile_log2_sum: array<f32, 16>;
var<workgroup> tile_delta: array<f32, 16>;

fn load_tile(first_t: u32, row0: u32, head: u32, stride: u32, thread: u32) {
  let length = params.sequence_length;
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let t = min(first_t + i / (HEAD_DIM / 4u), length - 1u);
    let at = (row0 + t) * stride + head * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = q[at];
    tile[TILE_PARTS + i] = d_out[at];
  }
  if (thread < params.tile_rows) {
    let t = min(first_t + thread, length - 1u);
    let row = (row0 + t) * params.num_heads + head;
    tile_start[thread] = select(length, segment_start[row0 + t], first_t + thread < length);
    tile_log2_sum[thread] = log_sum_exp[row] * LOG2_E;
    tile_delta[thread] = delta[row];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last key again, which is not stored.
  let own = min(wanted, length - 1u);
  let row0 = group.z * length;
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = (row0 + own) * stride + group.y * (HEAD_DIM / 4u) + slice;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slice();
  var value = Slice();
  for (var i = 0u; i < params.slice_parts; i++) {
    key.part[i] = k[at + i] * (scale * LOG2_E);
    value.part[i] = v[at + i];
  }
  var d_key = Slice();
  var d_value = Slice();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first; t < length; t += params.tile_rows) {
    if (segment_start[row0 + t] > last) { break; }
    workgroupBarrier();
    load_tile(t, row0, group.y, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      first_dots[j * THREADS + thread] = dot_slice(&key, part);
      second_dots[j * THREADS + thread] = dot_slice(&value, TILE_PARTS + part);
    }
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      let is_visible = tile_start[j] <= own && own <= t + j;
      let weight = select(0f, exp2(first_dot(j, thread) - tile_log2_sum[j]), is_visible);
      add_slice(&d_value, weight, TILE_PARTS + part);
      add_slice(&d_key, weight * (second_dot(j, thread) - tile_delta[j]), part);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) {
    dk[at + i] = d_key.part[i] * scale;
    dv[at + i] = d_value.part[i];
  }
}
`;var rg=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_subgroup8.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole queries; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> out: array<vec4f>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_key(slice: u32, at: u32, key: ptr<function, Tile>, value: ptr<function, Tile>) {
  if (slice >= SLICES) { return; }
  (*key).slice[slice] = load_k(at + slice * 8u);
  (*value).slice[slice] = load_v(at + slice * 8u);
}

// Turns the scores of the lane's query n into their gradients, without the factor 1 / sqrt(D).
fn gradients(n: u32, t: u32, start: u32, first_key: u32, log2_sum: f32, row_delta: f32, s: ptr<function, Scores>,
             dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let keys = first_key + vec4u(0u, 1u, 2u, 3u);
  let visible = (keys >= vec4u(start)) & (keys <= vec4u(t));
  let ds = exp2((*s).row[n] - log2_sum) * ((*dp).row[n] - row_delta);
  (*s).row[n] = select(vec4f(0f), ds, visible);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let t = min(wanted, vec4u(length - 1u));
  let starts = vec4u(segment_start[row0 + t.x], segment_start[row0 + t.y], segment_start[row0 + t.z],
    segment_start[row0 + t.w]);
  let at = head0 + t * stride;
  let rows = (row0 + t) * params.num_heads + group.y;
  let logs = LOG2_E *
    vec4f(log_sum_exp[rows.x], log_sum_exp[rows.y], log_sum_exp[rows.z], log_sum_exp[rows.w]);
  let scale = inverseSqrt(f32(HEAD_DIM));
  var query = Slots();
  var d_query = Slots();
  var delta_sums = vec4f();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    let d = d_out[source];
    query.part[i] = q[source] * (scale * LOG2_E);
    d_query.part[i] = d;
    delta_sums[i / (SLICES * 8u)] += dot(d, out[source]);
  }
  let deltas = delta_sums;
  var sum = Slots();
  let last = min(first + QUERIES, length) - 1u;
  for (var first_key = segment_start[row0 + first] / 4u * 4u; first_key <= last; first_key += 4u) {
    let row = head0 + min(first_key + lane % 4u, length - 1u) * stride + lane / 4u * 4u;
    var key = Tile();
    var value = Tile();
    load_key(0u, row, &key, &value);
    load_key(1u, row, &key, &value);
    load_key(2u, row, &key, &value);
    load_key(3u, row, &key, &value);
    var s = score(&query, &key);
    var dp = score(&d_query, &value);
    gradients(0u, t.x, starts.x, first_key, logs.x, deltas.x, &s, &dp);
    gradients(1u, t[SLICES % 4u], starts[SLICES % 4u], first_key, logs[SLICES % 4u], deltas.y, &s, &dp);
    gradients(2u, t[2u * SLICES % 4u], starts[2u * SLICES % 4u], first_key, logs[2u * SLICES % 4u], deltas.z, &s, &dp);
    gradients(3u, t[3u * SLICES % 4u], starts[3u * SLICES % 4u], first_key, logs[3u * SLICES % 4u], deltas.w, &s, &dp);
    weigh(&s, &key, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    let slot = i / 8u;
    if (wanted[slot] < length) {
      dq[at[slot] + i % (SLICES * 8u)] = result.part[i] * scale;
      if (i % (SLICES * 8u) == 0u) { delta[rows[slot]] = deltas[slot / SLICES]; }
    }
  }
}
`;var og=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_tiled.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override QUERIES: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> out: array<vec4f>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last query again, which is not stored.
  let t = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = head0 + t * stride + slice;
  let row = (row0 + t) * params.num_heads + group.y;
  let start = segment_start[row0 + t];
  let log2_sum = log_sum_exp[row] * LOG2_E;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  var d_query = Slice();
  var delta_part = 0f;
  for (var i = 0u; i < params.slice_parts; i++) {
    query.part[i] = q[at + i] * (scale * LOG2_E);
    let d = d_out[at + i];
    d_query.part[i] = d;
    delta_part += dot(d, out[at + i]);
  }
  first_dots[thread] = delta_part;
  workgroupBarrier();
  let row_delta = first_dot(0u, thread);
  var sum = Slice();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first]; key <= last; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      first_dots[j * THREADS + thread] = dot_slice(&query, part);
      second_dots[j * THREADS + thread] = dot_slice(&d_query, TILE_PARTS + part);
    }
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      let ds = exp2(first_dot(j, thread) - log2_sum) * (second_dot(j, thread) - row_delta);
      add_slice(&sum, select(0f, ds, is_visible), j * (HEAD_DIM / 4u) + slice);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { dq[at + i] = sum.part[i] * scale; }
  if (slice == 0u) { delta[row] = row_delta; }
}
`;var ng=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt up to a key of its own (the prompt's keys are stored once) and to those of its own suffix so far.
// Source: as attention_forward_subgroup8.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole
// rows; the prompt's keys are processed in tiles of 4 (attention_slots_subgroup8.wgsl,
// attention_softmax_subgroup8.wgsl), a row's own keys one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the end of the prompt's keys for each row, excluded, then the index of the row's
//   own key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of the keys of all its
//   rows, first row, end of the rows), the ends excluded; out (N, H, D) write.
// Grid: x = tiles, y = H; one subgroup a tile; row n of lane l is 8 n + l of the tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 1024 / D rows and each row sees at least one of its keys; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slot_parts: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  // The row of each slot; past the tile's end the last one again, which is not stored.
  let wanted = rows.z + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let row = min(wanted, vec4u(rows.w - 1u));
  let ends = vec4u(row_keys[row.x], row_keys[row.y], row_keys[row.z], row_keys[row.w]);
  let at = head0 + row * stride;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  for (var key = rows.x; key < rows.y; key += 4u) {
    let source = head0 + min(key + lane % 4u, rows.y - 1u) * stride + lane / 4u * 4u;
    let keys = key + vec4u(0u, 1u, 2u, 3u);
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, keys < vec4u(ends.x), &s, &softmax, &sum);
    weights(1u, keys < vec4u(ends[SLICES % 4u]), &s, &softmax, &sum);
    weights(2u, keys < vec4u(ends[2u * SLICES % 4u]), &s, &softmax, &sum);
    weights(3u, keys < vec4u(ends[3u * SLICES % 4u]), &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var step = 0u; step < params.num_steps; step++) {
    let of_step = row + (1u + step) * params.num_rows;
    let suffix = head0 + stride * vec4u(
      row_keys[of_step.x], row_keys[of_step.y], row_keys[of_step.z], row_keys[of_step.w]);
    var scores = array<f32, 4>();
    for (var i = 0u; i < params.slot_parts; i++) {
      scores[i / (SLICES * 8u)] += dot(own.part[i], suffix_k[suffix[i / 8u] + i % (SLICES * 8u)]);
    }
    var shrink = array<f32, 4>();
    var weight = array<f32, 4>();
    for (var n = 0u; n < params.slot_parts / (SLICES * 8u); n++) {
      let largest = max(softmax.largest[n], scores[n]);
      shrink[n] = exp2(softmax.largest[n] - largest);
      weight[n] = exp2(scores[n] - largest);
      softmax.largest[n] = largest;
      softmax.sum[n] = fma(softmax.sum[n], shrink[n], weight[n]);
    }
    for (var i = 0u; i < params.slot_parts; i++) {
      let n = i / (SLICES * 8u);
      let value = suffix_v[suffix[i / 8u] + i % (SLICES * 8u)];
      result.part[i] = fma(vec4f(weight[n]), value, result.part[i] * shrink[n]);
    }
  }
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < rows.w) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
}
`;var sg=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt up to a key of its own (the prompt's keys are stored once) and to those of its own suffix so far.
// Source: as attention_forward_tiled.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For any adapter; slices and tiles of the prompt's keys are in
// attention_slices_tiled.wgsl, a row's own keys are processed one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the end of the prompt's keys for each row, excluded, then the index of the row's
//   own key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of the keys of all its
//   rows, first row, end of the rows), the ends excluded; out (N, H, D) write.
// Grid: x = tiles, y = H; 64 threads a tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 2048 / D rows and each row sees at least one of its keys; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slice_parts: u32, tile_rows: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

fn load_tile(first_key: u32, end_key: u32, head0: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let key = min(first_key + i / (HEAD_DIM / 4u), end_key - 1u);
    let at = head0 + key * params.num_heads * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let wanted = rows.z + thread / SLICES;
  // Past the tile's end the last row again, which is not stored.
  let row = min(wanted, rows.w - 1u);
  let end_key = row_keys[row];
  let at = head0 + row * stride + slice;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  for (var i = 0u; i < params.slice_parts; i++) { query.part[i] = q[at + i] * scale; }
  var largest = MASKED;
  var sum = 0f;
  var weighted = Slice();
  for (var key = rows.x; key < rows.y; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, rows.y, head0, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      first_dots[j * THREADS + thread] = dot_slice(&query, j * (HEAD_DIM / 4u) + slice);
    }
    workgroupBarrier();
    var new_largest = largest;
    for (var j = 0u; j < params.tile_rows; j++) {
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), key + j < end_key));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let weight = select(0f, exp2(first_dot(j, thread) - largest), key + j < end_key);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  for (var step = 0u; step < params.num_steps; step++) {
    let suffix = head0 + row_keys[(1u + step) * params.num_rows + row] * stride + slice;
    var part = 0f;
    for (var i = 0u; i < params.slice_parts; i++) { part += dot(query.part[i], suffix_k[suffix + i]); }
    workgroupBarrier();
    first_dots[thread] = part;
    workgroupBarrier();
    let score = first_dot(0u, thread);
    let new_largest = max(largest, score);
    let shrink = exp2(largest - new_largest);
    let weight = exp2(score - new_largest);
    largest = new_largest;
    sum = fma(sum, shrink, weight);
    for (var i = 0u; i < params.slice_parts; i++) {
      weighted.part[i] = fma(vec4f(weight), suffix_v[suffix + i], weighted.part[i] * shrink);
    }
  }
  if (wanted >= rows.w) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { out[at + i] = weighted.part[i] / sum; }
}
`;var ig=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1; Milakov and Gimelshein, Online normalizer calculation
// for softmax, 2018. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole queries, so the
// softmax needs no exchange between lanes; slots, tiles and their products are in attention_slots_subgroup8.wgsl, the
// softmax in attention_softmax_subgroup8.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l
//   of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LN_2 = 0.6931471805599453f;

// For each of the 4 keys from first_key on, whether the query at t of a segment sees it.
fn visible(first_key: u32, start: u32, t: u32) -> vec4<bool> {
  let keys = first_key + vec4u(0u, 1u, 2u, 3u);
  return (keys >= vec4u(start)) & (keys <= vec4u(t));
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let t = min(wanted, vec4u(length - 1u));
  let starts = vec4u(segment_start[row0 + t.x], segment_start[row0 + t.y], segment_start[row0 + t.z],
    segment_start[row0 + t.w]);
  let at = head0 + t * stride;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first] / 4u * 4u; key <= last; key += 4u) {
    let source = head0 + min(key + lane % 4u, length - 1u) * stride + lane / 4u * 4u;
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, visible(key, starts.x, t.x), &s, &softmax, &sum);
    weights(1u, visible(key, starts[SLICES % 4u], t[SLICES % 4u]), &s, &softmax, &sum);
    weights(2u, visible(key, starts[2u * SLICES % 4u], t[2u * SLICES % 4u]), &s, &softmax, &sum);
    weights(3u, visible(key, starts[3u * SLICES % 4u], t[3u * SLICES % 4u]), &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
  let rows = (row0 + t) * params.num_heads + group.y;
  let largest = vec4f(softmax.largest[0], softmax.largest[1u / SLICES], softmax.largest[2u / SLICES],
    softmax.largest[3u / SLICES]);
  let sums = vec4f(softmax.sum[0], softmax.sum[1u / SLICES], softmax.sum[2u / SLICES], softmax.sum[3u / SLICES]);
  let logs = (largest + log2(sums)) * LN_2;
  if (wanted.x < length) { log_sum_exp[rows.x] = logs.x; }
  if (wanted.y < length) { log_sum_exp[rows.y] = logs.y; }
  if (wanted.z < length) { log_sum_exp[rows.z] = logs.z; }
  if (wanted.w < length) { log_sum_exp[rows.w] = logs.w; }
}
`;var ag=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override QUERIES: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last query again, which is not stored.
  let t = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = head0 + t * stride + slice;
  let start = segment_start[row0 + t];
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  for (var i = 0u; i < params.slice_parts; i++) { query.part[i] = q[at + i] * scale; }
  var largest = MASKED;
  var sum = 0f;
  var weighted = Slice();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first]; key <= last; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      first_dots[j * THREADS + thread] = dot_slice(&query, j * (HEAD_DIM / 4u) + slice);
    }
    workgroupBarrier();
    var new_largest = largest;
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), is_visible));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      let weight = select(0f, exp2(first_dot(j, thread) - largest), is_visible);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { out[at + i] = weighted.part[i] / sum; }
  if (slice == 0u) { log_sum_exp[(row0 + t) * params.num_heads + group.y] = (largest + log2(sum)) * LN_2; }
}
`;var ug=`// The shared part of the attention kernels for any adapter; lib/tensor/kernels.ts appends it to each of them.
// A workgroup has 64 threads; a thread owns a slice of 32 dims of one row (query, or key): thread i slice i % SLICES of row
// i / SLICES, where D = 32 SLICES. The other side is processed in tiles of 512 / D rows of two matrices (keys and
// values, or queries and the gradients of outputs) in workgroup memory, where the parts of dot products are also
// combined.
// Loops have bounds from params (slice_parts is always 8): otherwise Mesa would unroll them and compile for a minute.
// Limits: D is 32, 64 or 128; 12 KiB of workgroup memory.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

const THREADS = 64u;
const TILE_PARTS = 128u;

// 32 dims of a row.
struct Slice { part: array<vec4f, 8> }

// Matrix m, row r, dims 4 d to 4 d + 3 at TILE_PARTS m + r D / 4 + d.
var<workgroup> tile: array<vec4f, 256>;
// For row r of the tile and thread i, at 64 r + i: the dot product of its slices with those of the first matrix \u2026
var<workgroup> first_dots: array<f32, 1024>;
// \u2026 and with those of the second.
var<workgroup> second_dots: array<f32, 1024>;

// The slice's dot product with that of the tile that starts at tile[at].
fn dot_slice(x: ptr<function, Slice>, at: u32) -> f32 {
  let low = dot((*x).part[0], tile[at]) + dot((*x).part[1], tile[at + 1u]) + dot((*x).part[2], tile[at + 2u]) +
    dot((*x).part[3], tile[at + 3u]);
  let high = dot((*x).part[4], tile[at + 4u]) + dot((*x).part[5], tile[at + 5u]) + dot((*x).part[6], tile[at + 6u]) +
    dot((*x).part[7], tile[at + 7u]);
  return low + high;
}

// Adds weight times the slice of the tile that starts at tile[at].
fn add_slice(sum: ptr<function, Slice>, weight: f32, at: u32) {
  (*sum).part[0] = fma(vec4f(weight), tile[at], (*sum).part[0]);
  (*sum).part[1] = fma(vec4f(weight), tile[at + 1u], (*sum).part[1]);
  (*sum).part[2] = fma(vec4f(weight), tile[at + 2u], (*sum).part[2]);
  (*sum).part[3] = fma(vec4f(weight), tile[at + 3u], (*sum).part[3]);
  (*sum).part[4] = fma(vec4f(weight), tile[at + 4u], (*sum).part[4]);
  (*sum).part[5] = fma(vec4f(weight), tile[at + 5u], (*sum).part[5]);
  (*sum).part[6] = fma(vec4f(weight), tile[at + 6u], (*sum).part[6]);
  (*sum).part[7] = fma(vec4f(weight), tile[at + 7u], (*sum).part[7]);
}

// The dot product of whole rows: the thread's row and the tile's row \`row\` of the first matrix.
fn first_dot(row: u32, thread: u32) -> f32 {
  let at = row * THREADS + thread / SLICES * SLICES;
  var sum = first_dots[at];
  if (SLICES >= 2u) { sum += first_dots[at + 1u]; }
  if (SLICES >= 4u) { sum += first_dots[at + 2u] + first_dots[at + 3u]; }
  return sum;
}

fn second_dot(row: u32, thread: u32) -> f32 {
  let at = row * THREADS + thread / SLICES * SLICES;
  var sum = second_dots[at];
  if (SLICES >= 2u) { sum += second_dots[at + 1u]; }
  if (SLICES >= 4u) { sum += second_dots[at + 2u] + second_dots[at + 3u]; }
  return sum;
}
`;var cg=`// The shared part of the attention kernels for subgroups of 8 lanes; lib/tensor/kernels.ts appends it to each of them.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side is loaded in tiles of 4 rows, half a row per lane, and
// distributed by subgroupBroadcast, about as cheap on lavapipe as one vector fma, while a load costs 40. Everything is
// unrolled by hand: Mesa does not unroll loops of this size, and an array indexed by a variable is 10 times slower.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

// Four slots of 32 dims: vec4 d of slot i at 8 i + d.
struct Slots { part: array<vec4f, 32> }

// A tile of 4 rows: lane l holds of row l % 4 the first (l < 4) or second half of each slice of 32 dims.
struct Tile { slice: array<mat4x4f, 4> }

// For each of the lane's rows, a number for each of the tile's rows.
struct Scores { row: array<vec4f, 4> }

// Columns x, y, z, w of 4 lanes: 0 to 3 for the first half of a slice, 4 to 7 for the second.
fn spread(half: u32, x: vec4f) -> mat4x4f {
  if (half == 0u) {
    return transpose(mat4x4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u),
      subgroupBroadcast(x, 3u)));
  }
  return transpose(mat4x4f(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u),
    subgroupBroadcast(x, 7u)));
}

fn score_slot(slot: u32, half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Tile>,
              s: ptr<function, Scores>) {
  let x = (*own).part[slot * 8u + half * 4u + column];
  let y = spread(half, (*tile).slice[slot % SLICES][column]);
  let sum = (*s).row[slot / SLICES];
  (*s).row[slot / SLICES] =
    fma(vec4f(x.w), y[3], fma(vec4f(x.z), y[2], fma(vec4f(x.y), y[1], fma(vec4f(x.x), y[0], sum))));
}

fn score_column(half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Tile>,
                s: ptr<function, Scores>) {
  score_slot(0u, half, column, own, tile, s);
  score_slot(1u, half, column, own, tile, s);
  score_slot(2u, half, column, own, tile, s);
  score_slot(3u, half, column, own, tile, s);
}

// The dot product of each of the lane's rows with each of the tile's.
fn score(own: ptr<function, Slots>, tile: ptr<function, Tile>) -> Scores {
  var s = Scores();
  score_column(0u, 0u, own, tile, &s);
  score_column(0u, 1u, own, tile, &s);
  score_column(0u, 2u, own, tile, &s);
  score_column(0u, 3u, own, tile, &s);
  score_column(1u, 0u, own, tile, &s);
  score_column(1u, 1u, own, tile, &s);
  score_column(1u, 2u, own, tile, &s);
  score_column(1u, 3u, own, tile, &s);
  return s;
}

fn weigh_slot(slot: u32, half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Tile>,
              sum: ptr<function, Slots>) {
  let weight = (*s).row[slot / SLICES];
  let y = transpose(spread(half, (*tile).slice[slot % SLICES][column]));
  let x = (*sum).part[slot * 8u + half * 4u + column];
  (*sum).part[slot * 8u + half * 4u + column] = fma(vec4f(weight.w), y[3],
    fma(vec4f(weight.z), y[2], fma(vec4f(weight.y), y[1], fma(vec4f(weight.x), y[0], x))));
}

fn weigh_column(half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Tile>,
                sum: ptr<function, Slots>) {
  weigh_slot(0u, half, column, s, tile, sum);
  weigh_slot(1u, half, column, s, tile, sum);
  weigh_slot(2u, half, column, s, tile, sum);
  weigh_slot(3u, half, column, s, tile, sum);
}

// Adds the tile's rows, weighted by s, to each of the lane's rows.
fn weigh(s: ptr<function, Scores>, tile: ptr<function, Tile>, sum: ptr<function, Slots>) {
  weigh_column(0u, 0u, s, tile, sum);
  weigh_column(0u, 1u, s, tile, sum);
  weigh_column(0u, 2u, s, tile, sum);
  weigh_column(0u, 3u, s, tile, sum);
  weigh_column(1u, 0u, s, tile, sum);
  weigh_column(1u, 1u, s, tile, sum);
  weigh_column(1u, 2u, s, tile, sum);
  weigh_column(1u, 3u, s, tile, sum);
}
`;var lg=`// The shared part of the forward attention kernels for subgroups of 8 lanes, besides attention_slots_subgroup8.wgsl:
// loads of tiles of the bindings k and v, and the running softmax of a lane's rows; lib/tensor/kernels.ts appends it to
// each of them.
// Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
// Limits: D is 32, 64 or 128.
const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// For each of the lane's rows: the largest score so far, the sum of 2^(score - largest).
struct Softmax { largest: array<f32, 4>, sum: array<f32, 4> }

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_key(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_k(at + slice * 8u); }
}

fn load_value(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_v(at + slice * 8u); }
}

fn scale_slot(slot: u32, factor: f32, sum: ptr<function, Slots>) {
  (*sum).part[slot * 8u] *= factor;
  (*sum).part[slot * 8u + 1u] *= factor;
  (*sum).part[slot * 8u + 2u] *= factor;
  (*sum).part[slot * 8u + 3u] *= factor;
  (*sum).part[slot * 8u + 4u] *= factor;
  (*sum).part[slot * 8u + 5u] *= factor;
  (*sum).part[slot * 8u + 6u] *= factor;
  (*sum).part[slot * 8u + 7u] *= factor;
}

// Turns the scores of the lane's row n into weights, 0 where a key is not visible, and the sums so far to the new largest
// score.
fn weights(n: u32, visible: vec4<bool>, s: ptr<function, Scores>, softmax: ptr<function, Softmax>,
           sum: ptr<function, Slots>) {
  if (n * SLICES >= 4u) { return; }
  let scores = select(vec4f(MASKED), (*s).row[n], visible);
  let largest = max((*softmax).largest[n], max(max(scores.x, scores.y), max(scores.z, scores.w)));
  let shrink = exp2((*softmax).largest[n] - largest);
  let weight = select(vec4f(0f), exp2(scores - largest), visible);
  (*softmax).largest[n] = largest;
  (*softmax).sum[n] = fma((*softmax).sum[n], shrink, (weight.x + weight.y) + (weight.z + weight.w));
  (*s).row[n] = weight;
  scale_slot(n * SLICES, shrink, sum);
  if (SLICES >= 2u) { scale_slot(n * SLICES + 1u, shrink, sum); }
  if (SLICES >= 4u) {
    scale_slot(n * SLICES + 2u, shrink, sum);
    scale_slot(n * SLICES + 3u, shrink, sum);
  }
}
`;var pg=Ue("lanes_subgroup",zh),mg=Ue("lanes_workgroup",$h),fg=Ue("gemm_epilogue",Ph),Hn=Ue("attention_slices_tiled",ug),Kn=Ue("attention_slots_subgroup8",cg),dg=Ue("attention_softmax_subgroup8",lg),hg={cross_entropy:Fh,log_probabilities:Kh,qk_norm_rope_backward:Gh,qk_norm_rope_forward:Vh,rms_norm_forward:Oh,adamw:Mh,adamw_rows:Ih,add_rows:Rh,clip_factor:Nh,copy:Lh,embedding_backward:Ch,embedding_forward:Dh,gemm_subgroup8:fg+Ue("gemm_subgroup8",Bh),gemm_tiled:fg+Ue("gemm_tiled",Zh),limit_rows:Hh,muon_momentum:Uh,muon_normalize:qh,muon_update:jh,reduce_partials:Xh,shift_keys_backward:Wh,shift_keys_forward:Yh,sum_splits:Jh,rms_norm_backward:Qh,attention_backward_key_subgroup8:eg+Kn,attention_backward_key_tiled:tg+Hn,attention_backward_query_subgroup8:rg+Kn,attention_backward_query_tiled:og+Hn,attention_decode_subgroup8:ng+Kn+dg,attention_decode_tiled:sg+Hn,attention_forward_subgroup8:ig+Kn+dg,attention_forward_tiled:ag+Hn};var $0=`
fn unpack_half(x: vec2u) -> vec4f {
  return vec4f(unpack2x16float(x.x), unpack2x16float(x.y));
}

fn pack_half(x: vec4f) -> vec2u {
  let kept = clamp(x, vec4f(-65504f), vec4f(65504f));
  // By bits, since WGSL may assume that there is no NaN. With all bits of the exponent set, 65504 is a NaN.
  let is_beyond = (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(bitcast<u32>(65504f));
  let exponent = select(vec4u(0u), vec4u(0x7c00u, 0x7c000000u, 0x7c00u, 0x7c000000u), is_beyond);
  return vec2u(pack2x16float(kept.xy) | exponent.x | exponent.y, pack2x16float(kept.zw) | exponent.z | exponent.w);
}
`;function O0(t,e,r){return r.length===0?e:r.reduce((n,s)=>_g(t,P0(t,n,s),s),Ta(e))+$0}function P0(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new D(t,`${r} is not an array of vec4f and cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function _g(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i] and cannot be f16`;throw za(t,f,f.split(`
`).length,d)}let u=gg(e,a+1,"]"),c=e.slice(i.index,u+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(u+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=u+1+f.length;s=gg(e,p,";");let m=_g(t,e.slice(p,s),r,o+e.slice(0,p)),g=d?`unpack_half(${c}) ${d} (${m})`:m;n+=`${c} = pack_half(${g})`}else s=u+1,n+=`unpack_half(${c})`}return n+e.slice(s)}function gg(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var M0=64,Gn=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...hg,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??M0}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new D(e,"it is unknown; register it in lib/tensor/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=Th(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new D(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new D(e,"it needs subgroups, which the adapter does not have; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+Ue(e,O0(e,n,o));i.pushErrorScope("validation");let u=i.createShaderModule({label:e,code:a}),c=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[c]}),compute:{module:u,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(I0(e,u,f,a)),{name:e,interface:s,pipeline:l,layout:c}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?pg:mg}`:s}};async function I0(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw za(t,o,s.lineNum,s.message);let i=await r;if(i)throw new D(t,i.message)}function wg(t,e){return ia[fo(t)]/e}function xg(t,e){let r=[];for(let o of t)for(let n=o.firstRow;n<o.endRow;){let s=r.at(-1),i=s?.firstKey===o.firstKey&&s.endRow-s.firstRow<e,a=i?s:{...o,firstRow:n};i&&r.pop();let u=Math.min(a.firstRow+e,o.endRow);r.push({...a,endKey:Math.max(a.endKey,o.endKey),endRow:u}),n=u}return r}function yg(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,rowKeys:a,tiles:u,out:c}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:m}=e,g=fo(t.registry.gpu.info),h=`attention_decode_${g}`;aa(h,p);let w=d*p;S(h,w,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(h,l*w,{q:r,out:c}),S(h,(1+f)*l,{rowKeys:a}),S(h,m*4,{tiles:u});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:h,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,row_keys:a,tiles:u,out:c},params:g==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[m,d]})}var R0=32;function gt(t){let e=Math.max(R0,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function $a(t,e){return mo(r=>Vn(t,e,r))-mo(r=>Ct(t,r))}function Oa(t,e,r){return $a(t,e)<=r.limitBytes&&ur(o=>Vn(t,e,o))<=r.bufferBytes}function Vn(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=gt(e.maxRows),a=gt(e.maxPromptTokens),u=Math.max(i,a),c=_a(t,{rows:u,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>ar(r,`layer ${d} `));return{parameters:Ct(t,r),inputs:{tokens:r("tokens",[u]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[u]):void 0,embeddingRows:ve(t)>0?r("rows of tokens",[u,ne]):void 0},positions:r("positions",[u]),rotation:r("rotation",[u,s]),chosenRotation:r("chosen rotation",[u,s]),tiles:r("tiles",[i,4]),rowKeys:r("keys of rows",[1+e.maxSteps,i]),promptLayers:l.map(f=>({...c,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:c.x,xLastNorm:r("xLastNorm",[u,o]),xLastScale:r("xLastScale",[u])},chosen:{positions:r("chosen positions",[u]),picked:r("chosen hidden states",[u,o]),logits:r("chosen logits",[u,Lt(t)]),rowIndex:r("rows",[u]),logProbabilities:r("log-probabilities",[u,G(t)])}}}function bg(t,e){let{tensors:r,numWanted:o}=e,n=Sg(t,e,r.promptLayers),s=o===void 0?{}:{wanted:N0(e,o)};ir(t,{...n,...s})}function vg(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:u,rowKeys:c}=o,{numHeads:l,headDim:f}=r,d=s*c.shape[1]*l*f*4,p=g=>({...g,shape:[n,l,f],offsetBytes:d}),m=a.map((g,h)=>({...g,kRotated:p(u[h].k),kUnshifted:u[h].kUnshifted&&p(u[h].kUnshifted),v:p(u[h].v)}));ir(t,{...Sg(t,e,m),earlierKeys:g=>{let h=(s===0?a:u)[g].kUnshifted;return b(h,"a model without keyShift has no keys before their shift"),h},addAttention:(g,h)=>kg(g,e,{layer:h,numRows:n,numTiles:i,numSteps:s+1})})}function Sg(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:u,rotation:c}=r,l=Rn(t,e);return Ot(t,{tokens:u,table:l,x:c,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:c}}function N0(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>kg(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function kg(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,rowKeys:a,tiles:u}=r,{qRotated:c,kRotated:l,v:f,attention:d}=s[o];yg(t,{q:c,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,rowKeys:a,tiles:u,numHeads:e.numHeads,headDim:e.headDim,...n})}var Pa=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){b(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);b(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}rowKeys(e){let r=new Uint32Array((1+this.numSteps)*e);for(let{endKey:o,firstRow:n,endRow:s}of this.#r)r.fill(o,n,s);return this.#n.forEach((o,n)=>r.set(o,(1+n)*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{b(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],u={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,u}),this.#o=o}};function L0(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var Ma=class{#e;#t;#r;#o=[];#n=[];#s=[];#i=[];constructor(e,r,o){this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#o=e,this.#s=n,this.#n=o;let s=new Uint32Array(r*ne).fill($),i=0;e.forEach((a,u)=>{let c=new ht(this.#t);for(let l=0;l<a.length;l++,i+=ne)c.read(a[l],s,i,this.#a(u,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(ne),n=0;this.#i=this.#o.flatMap((s,i)=>{let a=new ht(this.#t),u=0;return this.#s[i].flatMap(c=>{for(;u<c-r;u++)a.read(s[u],o,0,this.#a(i,u));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*ne).fill($);this.#i.forEach((n,s)=>n.read(e[s],o,s*ne)),this.#e.write(this.#r,o)}#a(e,r){let o=this.#n[e],n=r===this.#o[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}},C0=128,Eg="lower the decoder's maxPromptTokens, maxRows or maxSteps",Wn=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new Pa,this.#o=0,this.#e=n;let{embeddingRows:s}=n.inputs;this.#n=s&&new Ma(e.gpu,new mt(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,u)=>u))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=$a(r,i);if(a>s)throw new y(`Cannot allocate the decoder: it takes ${it(a)} besides the weights, expected at most ${it(s)}; ${Eg}, or raise its memory limit`);let{gpu:u}=e,c=await Dn(u,f=>Vn(r,i,f),{what:"the decoder",remedy:Eg}),l=new t(e,r,i,c);return l.load(o),l}load(e){let{parameters:r}=this.#e;Bn(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:k})=>[k])}=r,{config:i}=this,{gpu:a}=this.registry,u=this.#e,c=e.reduce((k,{length:I})=>k+I,0);this.#f("prompt tokens",c,this.extent.maxPromptTokens);let l=gt(c),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),m=[],g=[],h=0;for(let[k,I]of e.entries()){let A=o===1/0?I.length:o;b(I.length>=A,`a prompt of ${I.length} tokens has no ${o} last ones`),this.#l(I.length-1);let O=h+I.length;f.set(I,h);for(let q=h;q<O;q++)d[q]=q-h;p.fill(h,h,O);let R=h;for(let q of s[k]){let te=h+q-(o===1/0?q:o);b(te>=R,`ends ${s[k]} of a prompt are less than ${o} tokens apart`),R=h+q;for(let ge=te;ge<R;ge++)m.push(ge);g.push({firstKey:h,endKey:R})}b(R<=O,`ends ${s[k]} of a prompt of ${I.length} tokens`),h=O}this.#r.begin(g),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(h,h),this.#a(f,d),a.write(u.inputs.segmentStart,p),this.#i(()=>Ln(p,l)),a.write(u.chosen.positions,Uint32Array.from(m));let w=gt(m.length),x=w<=u.tiles.shape[0];return x&&(this.#s(L0(g,m),w),a.write(u.rowKeys,Uint32Array.from(m,k=>k+1))),this.#c(x?`prefill ${l} for ${w}`:`prefill ${l}`,k=>bg(k,{config:i,tensors:u,rows:l,numWanted:x?w:void 0})).run(),await this.#u(m.length,x?void 0:m)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#f("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#s(this.#r.children)}async step(e,r){b(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;b(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#f("steps",n+1,this.extent.maxSteps),this.#f("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#s(this.#r.children));let s=gt(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let p of a)this.#l(p);this.#a(i,a),this.#n?.writeStep(e,s),this.#i(()=>this.#r.previousKeys(s));let{config:u}=this,c=this.#e,{rowKeys:l}=c;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.rowKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`;return this.#c(d,p=>vg(p,{config:u,tensors:c,rows:s,step:n,numTiles:f})).run(),await this.#u(o)}#s(e,r){let{gpu:o}=this.registry,n=xg(e,wg(o.info,this.config.headDim));this.#o=r??Math.min(gt(n.length),this.#e.tiles.shape[0]);let s=new Uint32Array(this.#o*4);n.forEach((i,a)=>s.set([i.firstKey,i.endKey,i.firstRow,i.endRow],a*4)),o.write(this.#e.tiles,s)}#i(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#a(e,r){let{gpu:o}=this.registry,n=G(this.config);b(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#u(e,r){let{gpu:o}=this.registry,{config:n}=this,s=gt(e),{chosen:i,head:a,parameters:u}=this.#e;this.#c(`head of ${s}, ${r?"chosen":"all"}`,p=>dh(p,{config:n,hiddenStates:a.xLastNorm,operands:u,tensors:r?i:{...i,positions:i.rowIndex},rows:s})).run();let c={...i.logProbabilities,shape:[e,G(n)]},l=r?(r.at(-1)??-1)+1:e,[f,d]=await o.read(c,{...a.xLastScale,shape:[l]});return await this.registry.ready(),$m(f,r?r.map(p=>d[p]):[...d]),f}#c(e,r){let o=this.#t.get(e),n=o??new Oe(this.registry,e);if(o||r(n),this.#t.delete(e),this.#t.set(e,n),this.#t.size>C0){let[[s,i]]=this.#t;this.#t.delete(s),i.destroy()}return n}#l(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new y(`Cannot decode: position ${e} was asked for, expected at most ${r-1}; shorten the prompt or use a model with longer sequences`)}#f(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, expected at most ${o}; create a larger decoder`)}};function fe(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var cr=-1;function Yn(t,e){let r=Float64Array.from(e,(s,i)=>s===cr?cr:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}var Jn=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};function _o(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var Ag=47;var AP=new Uint16Array(9);function Tg(t){return t?B0(t):D0}var D0={maxMeasurementTokens:Ag,divide:t=>[t],write({measurements:t},e,r,o){let n=new Ve(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.rttHistory)&&pp(s.rttHistory,o,e.indexOf(8,i)*ln)}return n.at}};function B0(t){let e=an(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:er(n)})),write({measurements:r},o,n){let s=new tr(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}var Dt=Float64Array.from(he,pn),Og=6e4,zg=Dt.findIndex(t=>t>Og),Z0=.01,_t=class{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,b(r.length===he.length,"one probability per canonical code"),this.#e=new Float64Array(r.length);let s=0;for(let i=0;i<r.length;i++)this.#e[i]=s+=r[i]}get meanMs(){let e=this.withinPingLimit;if(e===0)return Og;let r=0;for(let o=0;o<zg;o++)r+=this.probabilities[o]*Dt[o];return r/e}get withinPingLimit(){return this.#e[zg-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return $g(he,Ze(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: expected 0 to 1`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<Dt.length;i++){for(n+=this.probabilities[i];Dt[i]>Dt[o]*(1+Z0);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&U0(s,he[i],this.probabilities[i]);return s}#t(e){return Dt[Math.min($g(this.#e,e),Dt.length-1)]}};function U0(t,e,r){let o=mn(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let u=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);u>0&&(t[a].probability+=r*u/n)}}function $g(t,e){return _o(t.length,r=>t[r]>=e)}var J=[...new Set([...he].map(t=>t>>8))],q0=J.map(t=>11+t),Pg=[8,10],fr=Array.from({length:256},(t,e)=>[...he].filter(r=>r>>8===e).map(r=>r&255));function Xn(t){return fr[t]}function Mg(t){let{outcome:e,first:r,seconds:o,expanded:n}=t,s=new Float64Array(he.length),i=qe(r,J),a=0,u=0,c=0,l=0;return J.forEach((f,d)=>{let p=i.probabilities[d],m=fr[f].length;if(n[l]===d){let g=qe(fe(o,l++),fr[f]);a+=p*i.mass*g.mass;for(let h of g.probabilities)s[c++]=p*h}else a+=p*i.mass,u+=p,s.fill(p/m,c,c+=m)}),new _t(wo(e),s,a,u)}function wo(t){return 1/(1+Math.exp(t[8]-t[10]))}function Ig(t,{outcome:e,first:r,second:o}){if(t===null)return lr(e,10,Pg);let[n,s]=[t>>8,t&255];return lr(e,8,Pg)+lr(r,11+n,q0)+lr(o,11+s,fr[n].map(i=>11+i))}function Rg([t,e],{first:r,ofLow:o,ofHigh:n}){let s={below:0,within:0},{probabilities:i}=qe(r,J);return J.forEach((a,u)=>{if(a!==t>>8&&a!==e>>8){a<t>>8?s.below+=i[u]:a<e>>8&&(s.within+=i[u]);return}let c=qe(a===t>>8?o:n,fr[a]).probabilities;fr[a].forEach((l,f)=>{let d=a<<8|l;d<t?s.below+=i[u]*c[f]:d<=e&&(s.within+=i[u]*c[f])})}),s}function lr(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function Ng(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=qe(t,J),s=J.keys().toArray().toSorted((u,c)=>o[c]-o[u]),i=new Set(r===null?[]:[J.indexOf(r>>8)]),a=1;for(let u of s){if(a<=e)break;i.add(u),a-=o[u]}return[...i].sort((u,c)=>u-c)}function qe(t,e){let r=new Float64Array(e.length),o=0;for(let n=0;n<e.length;n++)o+=r[n]=Math.exp(t[11+e[n]]);for(let n=0;n<e.length;n++)r[n]/=o;return{mass:o,probabilities:r}}var j0=8192,F0=1024;function H0(t){return Tg(En(t)).maxMeasurementTokens-1}function Ia(t,e){for(let r=j0;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,J.length),maxSteps:2};if(r<J.length||Oa(t,o,e))return o}}var K0=8;function Lg(t,e){for(let r=F0;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,K0*r),maxRows:r,maxSteps:H0(t)};if(r<=32||Oa(t,n,e))return n}}function*Qn(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}async function G0(t,e,r){let o=G(t.config),n=e.flatMap(({continuations:u})=>[...u]),s=Uint32Array.from(e.flatMap(({continuations:u},c)=>u.map(()=>c))),i=(u,c)=>l=>{n.forEach((f,d)=>{u<f.length&&r(fe(l,c[d],o),d,u)})},a=[t.prefill(e.map(({prompt:u})=>u)).then(i(0,s))];t.fork(e.map(()=>1));for(let u=1;;u++){let c=Yn(s,n.map(l=>u<l.length?l[u-1]:cr));if(c.tokens.length===0)break;s=c.rows,a.push(t.step(c.tokens,c.parents).then(i(u,s)))}await Promise.all(a)}function*V0(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let u=0;u<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(u,u+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,u+=l.length}o.length>0&&(yield o)}var es=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Nt(e.registry.gpu.device)};let o=n=>Wn.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new ts(()=>o(Ia(e.config,this.#t))),this.#o=new ts(()=>o(this.continuationExtent))}get continuationExtent(){return Lg(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=Ia(this.#e.config,this.#t),s=0;for(let i of Qn(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>await r(o,await o.prefill(e)))}async tokenLogProbabilities(e,r){let o=G(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let u=await i.prefill(a,{numLast:r}),c=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>u[c++*o+d]))}}),n}async visitContinuations(e,r){let o=0;for(let n of V0(e,this.continuationExtent)){let s=o;await this.#o.run(i=>G0(i,n,(a,u,c)=>r(a,s+u,c)));for(let{continuations:i}of n)o+=i.length}}async continuationLogProbabilities(e,r){let o=e.flatMap(({prompt:s,continuations:i})=>i.map(a=>({tokens:a,places:r?.(a,s)}))),n=o.map(({tokens:s})=>new Float32Array(s.length));return await this.visitContinuations(e,(s,i,a)=>{let{tokens:u,places:c}=o[i],l=c?.[a];n[i][a]=l?lr(s,u[a],l):s[u[a]]}),n}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},ts=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var Cg=2**32-1;function we(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return xo({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:st,sequenceLength:e}).subarray(0,-1)}function xo(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new y(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: expected two addresses of one version`);let a=new Uint16Array(n+1),u=new Ve(a),c=Bt({...t,context:r},n);Ra(c,t.timeS);for(let l of c)u.write(l,st);return u.write(t,o),a.subarray(0,u.at)}function Ra(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new y(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, expected none after it`);if(r!==null&&o!==null&&o-r>Cg)throw new y(`Cannot ask about times ${o-r} s apart: expected at most ${Cg} s between two measurements`);r=o??r}}function Bt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,u=Math.max(0,s.length-Math.ceil(a/11));for(let c=u;c<=s.length;c++){let l=null,f=0;for(let d of[...s.slice(c),i])f+=Ge(d,l),l=d.timeS??l;if(f<=a)return s.slice(c)}throw new y(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}var W0=J.keys().toArray();async function Dg(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,J.length,async(s,i,a)=>{let u=r.slice(a,a+i.length),c=s.prefill(i,{numLast:2,recents:u}),l=i.map(()=>W0);if(n){let{maxSpreadMass:g,codes:h}=n,w=await c;l=i.map((x,k)=>Ng(fe(w,2*k+1),{maxSpreadMass:g,code:h[a+k]}))}s.fork(l.map(({length:g})=>g));let f=s.step(l.flat().map(g=>11+J[g])),[d,p]=await Promise.all([c,f]),m=0;l.forEach((g,h)=>{let w={outcome:fe(d,2*h),first:fe(d,2*h+1),expanded:g,seconds:p.subarray(m*267,(m+=g.length)*267)};o(Mg(w),a+h)})})}var Bg=Date.UTC(1990,0,1)*1e3,Zg=Date.UTC(2100,0,1)*1e3;var Fg=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,yo={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},Ug="",qg=!1;function rs(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*yo[e]):Y0(t);if(jg(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${Fg.test(t)?"there is no such date or time":"it is not a time"}, expected a time as ISO 8601 or Unix ${e}`};let n=r&&Object.keys(yo).find(i=>jg(+t*yo[i]));if(!n)return{fault:"expected a time from 1990 to 2099"};let s=Math.floor(+t*yo[n]/yo[e]);return{fault:`these look like ${n}, expected Unix ${e}, such as ${s}`}}function jg(t){return t>=Bg&&t<Zg}function Y0(t){let e=Fg.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==Ug){let u=Date.parse(`${r}T00:00Z`);qg=!Number.isNaN(u)&&new Date(u).toISOString().startsWith(r),Ug=r}if(!qg)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var J0=["src","dst","time","context"],X0=["src","dst","time","rtt"],Q0=80;function os(t){let{src:e,dst:r,time:o,context:n}=Vg(t,J0),s=[],i=Hg("src",e,s),a=Hg("dst",r,s);return{source:i,destination:a,timeS:Yg(o),context:rS(n,s),notes:s}}function Gg(t){let{source:e,destination:r,timeS:o,context:n}=Na(t);for(let s of[e,r])if(!Q(s))throw new y(`Cannot give one exact distribution for ${We(s)}: expected two addresses; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function Na(t){let{source:e,destination:r,timeS:o,context:n}=os(t);return{source:e,destination:r,timeS:o,context:n??[]}}function eS(t){if(rm(t))return`${t} has bits after the prefix: taken as ${We(Xi(t))}`}function Vg(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new y(`found ${vs(r)}, expected only ${e.join(", ")}`)}function Hg(t,e,r){let o=Wg(t,e,"address or prefix");try{let n=Xi(o),s=eS(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof y?new y(`${t}: ${n.message}`):n}}function Kg(t,e){let r=Wg(t,e,"address"),o=zn(r);if(o)return o;throw new y(`found ${t} ${Je(r)}, expected an IPv4 or IPv6 address${ro(r)}`)}function Wg(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=Q0)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${Je(e)}`;throw new y(`found ${o}, expected an IPv4 or IPv6 ${r}`)}function tS(t){let e=rs(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function Yg(t){if(t==null||t==="")return null;let e=tS(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new y(`found time ${Je(t)}, ${e.fault}`)}function rS(t,e){if(t==null)return null;if(!Array.isArray(t))throw new y(`found context ${Je(t)}, expected an array of measurements`);let r=t.map((o,n)=>{try{return bo(o)}catch(s){throw s instanceof y?new y(`context[${n}]: ${s.message}`):s}});return nS(r,e)}function bo(t){if(typeof t!="object"||t===null)throw new y("found no JSON object, expected one with src, dst, time and rtt");let{src:e,dst:r,time:o,rtt:n}=Vg(t,X0),s=Kg("src",e),i=Kg("dst",r);if(s.length!==i.length)throw new y("found addresses of different IP versions, expected two of one version");return{source:s,destination:i,rttCode:oS(n),timeS:Yg(o)}}function oS(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return Ze(t);let e=t===void 0?"no rtt":`rtt ${Je(t)}`;throw new y(`found ${e}, expected ms of 0 or more, or null for no reply`)}function Je(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?vs(t):t)}function nS(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new y("found context with a time in some measurements only, expected it in all or none");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var sS=2**30;function iS({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new X(`the model has vocabulary ${r}, expected v2; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var ns=class t{config;registry;step;decoders;calibration;#e;constructor(e,r,o,n,{memoryLimitBytes:s=sS,calibration:i,adapted:a,trainingData:u}){this.config=e,this.registry=r,this.step=n,this.#e=new jn(e,o,{adapted:a,trainingData:u}),this.calibration=i,this.decoders=new es(this,s)}static async from(e,r={}){r.anyVocabulary||iS(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new Gn(await go.open()),{adapted:a,trainingData:u}=e;return new t(o.model,i,n,s.step,{...r,adapted:a,trainingData:u})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#e.weights}get trainingData(){return this.#e.trainingData}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:Gg(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o)),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...we(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:u,timeS:c})=>u===null?[]:[{rttCode:u,timeS:c}]))},i=(a,u)=>r(this.calibration?.apply(a)??a,u);await Dg(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:bo(s)),n=await this.#e.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};var La=Ti([z(),v()]).nullish(),vo=z({error:"expected an IPv4 or IPv6 address"}),aS=v().min(0).max(1);function pr(t){let e=`expected only ${Object.keys(t).join(", ")}`;return St(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var dr=pr({src_addr:vo,dst_addr:vo,timestamp:La,rtt:v().min(0).nullable()}),Ca=pr({quantiles:Y(aS).max(200).optional(),at:Y(v().min(0)).max(200).optional(),cdf:M().min(2).max(1e3).optional()}),Xg=pr({src_addr:vo,dst_addr:vo,timestamp:La,context:Y(dr).optional(),...Ca.shape,draws:M().min(2).max(2**12).optional(),seed:M().min(0).max(2**32-1).optional()}),ss=N({measurements:M(),in_adaptation:M(),last_seen:z().nullable()}),uS=N({kind:He(["pair","addresses","source","destination","network"]),text:z(),src:ss,dst:ss,pair:ss}),zM=N({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),context_measurements:M(),p_failed:v(),mean_ms:v(),likeliest:N({rtt_ms:v(),probability:v()}),quantiles_ms:kt(z(),v()),canonical_mass:v(),at:Y(N({rtt_ms:v(),cdf:v(),probability:v(),low_ms:v(),high_ms:v().nullable(),bits:v().nullable()})).optional(),cdf:Y(N({rtt_ms:v(),cdf:v()})).optional(),drawn:N({num_draws:M(),num_distinct:M(),source_probability:v().nullable(),destination_probability:v().nullable(),standard_errors:N({p_failed:v(),mean_ms:v(),quantiles_ms:kt(z(),v()),cdf:Y(v()).optional(),destination_probability:v()})}).optional(),basis:uS,notes:Y(z()).optional(),step:M()}),$M=N({line:M(),error:z()}),Qg=pr({src_addr:vo,rtt:Zr([v().min(0),v().min(0)]),timestamp:La,context:Y(dr).optional(),top:M().min(1).max(1e3).optional(),prefix_length:M().min(0).max(128).optional(),candidates:M().min(1).max(1024).optional(),max_expansions:M().min(1).max(2**16).optional()}),OM=N({src_addr:z(),rtt:Zr([v(),v()]),timestamp:v().nullable(),prefix_length:M(),context_measurements:M(),destinations:Y(N({prefix:z(),probability:v(),measured:ss.nullable()})),unlisted_probability:v(),candidates:M(),prior_mass:v(),step:M()}),Jg=N({start:z().nullable(),end:z().nullable(),measurements:M(),sources:M(),destinations:M()}),e_=pr({...dr.shape,context:Y(dr).optional()}),PM=N({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),rtt:v().nullable(),mean_bits:v(),spread_bits:v(),total_bits:v(),orders:Y(N({order:z(),bits:v(),block_bits:kt(z(),v())})),step:M()}),MM=N({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),rtt:v().nullable(),log_likelihood:v(),p_value:v()}),t_=pr({context:qr.number().int().min(0).max(1e3).optional(),seed:qr.number().int().min(0).max(2**32-1).optional()}),Da=N({version:z(),step:M(),num_parameters:M(),vocabulary:z(),model_sha256:z(),data_fingerprint:z(),trained_tokens:M(),config:kt(z(),Dr()),is_calibrated:vt(),data:N({origin:z(),is_synthetic:vt().nullable(),...Jg.shape,adaptation:Jg.nullable()}).nullable(),training_curve:Y(N({step:M(),train_loss:v().nullable(),eval_loss:v().nullable()})),evaluation:N({num_measurements:M(),split:z(),num_training:M(),methods:Y(N({name:z(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()}))}).nullable()}),IM=N({...Da.shape,adapter:z(),examples:Y(N({src_addr:z(),dst_addr:z()}))}),RM=N({type:z(),title:z(),status:M(),detail:z()});var cS=["f32","f16"],lS=N({formatVersion:M().optional(),model:Da,calibration:Y(v()).nullable(),dtype:He(cS),weights:Y(N({path:z(),sizeBytes:M().min(1),sha256:z().regex(/^[0-9a-f]{64}$/)})).min(1)});function r_(t,e){try{let r=qd({}).parse(JSON.parse(t));return ks(r.formatVersion,e),lS.parse(r)}catch(r){throw r instanceof y?r:new X("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var Zt=8,fS=1e8,o_="__metadata__",dS=N({dtype:z(),shape:Y(v().int().nonnegative()),data_offsets:Zr([v().int().nonnegative(),v().int().nonnegative()])}),pS=kt(z(),z()),Ba={F32:4,F16:2};function mS(t,{path:e,sizeBytes:r}){if(r<Zt)throw new X(`the file ends, expected ${Zt} bytes of header length`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(fS,r-Zt))){let n=`the header's stated size is ${o} bytes, the file has ${r}`;throw new X(`${n}; it is truncated or not a safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function hS(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/Ba[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function n_(t,e){let r={path:e,sizeBytes:t.length},o=Zt+mS(t,r),{entries:n}=gS(t.subarray(Zt,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:u}])=>{let l=(o+a)%Ba[i]===0?t.subarray(o+a,o+u):t.slice(o+a,o+u);return[s,hS(l,i)]}))}function gS(t,e){let r=_S(t,e.path);return xS(r.entries,{...e,dataOffsetBytes:Zt+t.length}),r}function _S(t,e){let r={path:e,offsetBytes:Zt},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(u){throw new X("the header is not JSON; it is damaged or not a safetensors file",{...r,cause:u})}if(t[0]!==123||typeof o!="object"||o===null)throw new X("the header does not start with {, expected a JSON object",r);let{[o_]:n={},...s}=o,i=pS.safeParse(n);if(!i.success)throw new X(`${o_} is not text to text`,r);let a=Object.entries(s).map(([u,c])=>[u,wS(u,c,r)]);return a.sort(([,u],[,c])=>u.begin-c.begin||u.end-c.end),{entries:new Map(a),metadata:i.data}}function wS(t,e,r){let o=dS.safeParse(e);if(!o.success)throw new X(`tensor ${t} has an invalid or missing dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new X(`tensor ${t} is ${n}, expected F32 or F16; convert it`,r);let u=Ba[n]*yS(s);if(a-i!==u){let c=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new X(`${c}, expected ${u}`,r)}return{shape:s,dtype:n,begin:i,end:a}}function xS(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let u=i<n?"overlaps the tensor before it":"leaves a gap before it";throw new X(`tensor ${s} ${u}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new X(`the file has ${o} bytes, expected ${s}; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function yS(t){return t.reduce((e,r)=>e*r,1)}var bS="ping-llm weights",is=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(bS)}catch{return}}};var vS={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},SS=["AbortError","TimeoutError"],s_="Cannot answer: the request was ended before its answer was there; ask again",Pe=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:vS[e],status:e,detail:r}}};function as(t){return kS(t).problem}function kS(t){return t instanceof Pe?t:t instanceof yr?new Pe(503,s_):t instanceof y?new Pe(400,i_(t.message)):t instanceof Xo?new Pe(400,i_(Za(t))):t instanceof DOMException&&SS.includes(t.name)?new Pe(503,s_):new Pe(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function mr(t){try{return await t()}catch(e){throw!(e instanceof y)||e instanceof yr?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function i_(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Za({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=Je(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=u_(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(ES,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${Je(s)}, ${n}`}function ES(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var AS={string:"expected text",number:"expected a number",int:"expected a whole number",array:"expected an array",tuple:"expected an array",object:"expected a JSON object"};function u_(t){return t.message.startsWith("expected ")?t.message:t.code==="invalid_type"?AS[t.expected]??`expected ${t.expected}`:t.code==="invalid_union"?`expected ${t.errors.map(([r])=>u_(r).replace(/^expected /,"")).join(" or ")}`:t.code==="too_small"?`expected at least ${a_(t.origin,t.minimum)}`:t.code==="too_big"?`expected at most ${a_(t.origin,t.maximum)}`:t.message}function a_(t,e){return t!=="array"?String(e):e===1?"1 value":`${e} values`}function us([t,e]){if(!(t>=0&&t<=e&&e<1/0))throw new y(`Cannot ask for destinations at an RTT of ${t}..${e} ms: expected 0 or more, the lesser first`);return[Ze(t),Ze(e)]}function cs({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new y(`Cannot ask for prefixes of ${e} bits: expected 0 to ${r} for the destinations of an IPv${r===32?4:6} source`)}function at({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function c_(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function ls(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,u)=>a+u,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*fs(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,u)=>o(s+u));await t.continuePrompts([e],async(a,u)=>{a.fork([i.length]);for(let c of i)c.draw(u);for(;i.some(c=>!c.isComplete);){let c=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(fe(c,f)))}}),yield*i}}var TS=Array.from({length:256},(t,e)=>e);async function l_({decoder:t,ends:e},r,o){let n=r.flatMap((a,u)=>a.take(o).map(c=>({search:a,prompt:u,at:c,isDone:!1})));if(n.length===0)return 0;t.fork(r.map(()=>1));let s=e,i=Uint32Array.from(n,({prompt:a})=>a);for(let a=0;;a++){n.forEach((l,f)=>{if(l.isDone||l.at.bytes.length!==a)return;let d=l.search.expand(l.at,qe(fe(s,i[f]),TS).probabilities);d?l.at=d:l.isDone=!0});let u=n.map(({at:l,isDone:f})=>f?cr:11+l.bytes[a]),c=Yn(i,u);if(c.tokens.length===0)return n.length;s=await t.step(c.tokens,c.parents),i=c.rows}}var f_=256,ds=class{#e;#t;#r=new Jn((e,r)=>Ua(e)>Ua(r));#o=[];#n={bytes:[],mass:1};#s=new Set;#i=0;constructor({numBytes:e,top:r}){this.#e=e,this.#t=r}get found(){return this.#o}get numExpanded(){return this.#i}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#a<=this.#c}take(e){let r=[];for(this.#n&&e>0&&this.#t>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#a>this.#c;)r.push(this.#u());for(let o of r)this.#s.add(o);return r}expand(e,r){b(this.#s.delete(e),"a node is expanded that was not taken"),this.#i++;let o=r.map(a=>e.mass*a);if(e.bytes.length+1===this.#e){o.forEach((a,u)=>this.#l({bytes:[...e.bytes,u],mass:a}));return}let n=Uint8Array.from({length:f_},(a,u)=>u);n.sort((a,u)=>o[u]-o[a]||a-u);let s={node:e,masses:o,order:n,numTaken:1};this.#r.add(s);let i=d_(s,n[0]);return this.#s.add(i),i}get#a(){return this.#r.first?Ua(this.#r.first):0}#u(){let{first:e}=this.#r;b(e,"a child is taken where there is none");let r=d_(e,e.order[e.numTaken++]);return e.numTaken===f_?this.#r.removeFirst():this.#r.sinkFirst(),r}get#c(){return this.#o.length<this.#t?0:this.#o.at(-1)?.mass??1/0}#l(e){if(e.mass<=this.#c)return;let r=o=>this.#o[o].mass<e.mass;this.#o.splice(_o(this.#o.length,r),0,e),this.#o.length>this.#t&&this.#o.pop()}};function Ua({masses:t,order:e,numTaken:r}){return t[e[r]]}function d_({node:t,masses:e},r){return{bytes:[...t.bytes,r],mass:e[r]}}var ps=16,p_=.999,zS=1024,$S=at({first:0,last:255});async function h_(t,e,{numCandidates:r,maxExpansions:o,onSearch:n,signal:s}){let{decoders:i,trainingData:a}=t,u=e[0].query.source.length,c=OS(a,u).slice(0,r),l=e.map(({query:w})=>new qa(a,w)),f=l.map(({known:w})=>__([...w,...c])),d=await i.continuationLogProbabilities(e.map(({prompt:w},x)=>({prompt:w,continuations:f[x].map(k=>Uint16Array.from(k,I=>11+I))})),()=>Array.from({length:u},()=>$S)),p=0,m=f.map((w,x)=>{let k=d.slice(p,p+=w.length),I=w.map((O,R)=>{let q=Math.exp(k[R].reduce((te,ge)=>te+ge,0));return{address:O,prior:l[x].of(O,q)}}),{length:A}=l[x].known;return{known:I.slice(0,A),others:I.slice(A)}}),g=m.map(({known:w,others:x})=>m_([...w,...x])>=p_),h=m.map(({known:w},x)=>new ds({numBytes:u,top:g[x]?0:w.length+r}));return g.every(Boolean)||await i.continuePrompts(e.map(({prompt:w})=>w),async(w,x)=>{for(let k=0;k<o&&(s?.throwIfAborted(),await l_({decoder:w,ends:x},h,ps)!==0);k+=ps)n?.(h.reduce((I,{numExpanded:A})=>I+A,0))}),m.map(({known:w,others:x},k)=>{let I=h[k].found.map(({bytes:R,mass:q})=>{let te=Uint8Array.from(R);return{address:te,prior:l[k].of(te,q)}}),A=new Map(w.map(R=>[ee(R.address),R])),O=m_(w);for(let R of[...x,...I].sort((q,te)=>te.prior-q.prior)){if(A.size>=w.length+r||O>=p_)break;let q=ee(R.address);A.has(q)||(A.set(q,R),O+=R.prior)}return[...A.values()]})}function m_(t){return t.reduce((e,{prior:r})=>e+r,0)}var qa=class{known;#e=new Map;#t;#r;constructor(e,{source:r,context:o}){let n=g_(e).flatMap(i=>i.destinationsOf(r));for(let{address:i,seen:a}of n){let u=ee(i.bytes);this.#e.set(u,(this.#e.get(u)??0)+a.measurements)}this.#t=e?.known.pairDiscount??1,this.#r=this.#e.values().reduce((i,a)=>i+a,0),n.sort((i,a)=>a.seen.measurements-i.seen.measurements);let s=o.filter(i=>ee(i.source)===ee(r));this.known=__([...s.map(({destination:i})=>i),...n.map(({address:i})=>i.bytes)]).slice(0,zS)}of(e,r){if(this.#r===0)return r;let o=this.#e.get(ee(e))??0,n=this.#t*this.#e.size*r;return(Math.max(0,o-this.#t)+n)/this.#r}};function OS(t,e){return g_(t).flatMap(o=>[...o.destinations()]).filter(({bytes:o})=>o.length===e).sort((o,n)=>n.asDestination.measurements-o.asDestination.measurements).map(({bytes:o})=>o)}function g_(t){return t?[t.known,...t.adaptation?[t.adaptation.known]:[]]:[]}function __(t){return[...new Map(t.map(e=>[ee(e),e])).values()]}async function w_(t,e,r={}){let{numCandidates:o=256,top:n=20,maxExpansions:s=512,onSearch:i,onProgress:a,signal:u}=r,c=e.map(d=>PS(d,t.config.sequenceLength)),l=c.map(({prompt:d})=>d),f=[];for(let d of Qn(l,t.decoders.continuationExtent,ps)){let p=cs(e[0],r.prefixLength),m=c.slice(f.length,f.length+d.length),g=await h_(t,m,{numCandidates:o,maxExpansions:s,onSearch:i,signal:u});for(let[h,w]of m.entries()){let x=await MS(t,{...w,candidates:g[h],signal:u});f.push(RS(g[h],x,{top:n,prefixLength:p})),a?.(f.length)}}return f}function PS(t,e){let{source:r,rttMs:o,timeS:n,context:s}=t,i=o&&us(o),a=we({source:r,destination:r,timeS:n,context:s},e),u=a.lastIndexOf(r.length===4?3:4)+1;return{query:t,codes:i,prompt:a.slice(0,u),time:[...a.subarray(u+r.length)]}}async function MS(t,{prompt:e,candidates:r,time:o,codes:n,signal:s}){let i=IS(n),a=r.flatMap(({address:c})=>i.map(l=>Uint16Array.of(...Array.from(c,f=>11+f),...o,...l))),u=a.map(()=>[]);return await t.decoders.visitContinuations([{prompt:e,continuations:a}],(c,l)=>{s?.throwIfAborted(),u[l].push(c)}),r.map(({address:c},l)=>{let[f,d=f]=u.slice(i.length*l,i.length*(l+1)),[p,m,g]=f.slice(c.length+o.length),h=wo(p);if(!n)return h;let w=Rg(n,{first:m,ofLow:g,ofHigh:d[d.length-1]});return(1-h)*(t.calibration?.massOf(w)??w.within)})}function IS(t){if(!t)return[[10]];let e=new Set(t.map(r=>r>>8));return Array.from(e,r=>[8,11+r,11])}function RS(t,e,{top:r,prefixLength:o}){let n=t.map(({prior:c},l)=>c*e[l]),s=n.reduce((c,l)=>c+l,0),i=new Map;t.forEach(({address:c},l)=>{let f=to(c,o),d=We(f),p=s>0?n[l]/s:1/t.length;i.set(d,{prefix:f,probability:(i.get(d)?.probability??0)+p})});let a=[...i.values()].sort((c,l)=>l.probability-c.probability).slice(0,r),u=a.reduce((c,{probability:l})=>c+l,0);return{destinations:a,unlistedProbability:Math.max(0,1-u),candidates:t.length,priorMass:t.reduce((c,{prior:l})=>c+l,0)}}var NS=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function wt(t,e){let r=x_(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new y(Za(s,{value:r}))}function x_(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of NS)if(e.has(o)){if(e.has(n))throw new y(`found ${o} and ${n}, expected one of the two`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(x_)),Object.fromEntries(e)}function ja(t,e={}){let{draws:r,seed:o,quantiles:n,at:s,cdf:i,...a}=wt(Xg,t),{src_addr:u,dst_addr:c}=a;return{query:{src:u,dst:c,...os(y_(a))},wanted:{quantiles:n??e.quantiles,at:s??e.at,cdf:i??e.cdf},draws:{numDraws:r,seed:o}}}function Fa(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=os(y_({...t,dst_addr:e}));if(!Q(r))throw new y(`found src_addr ${Je(e)}, expected an IPv4 or IPv6 address${ro(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function ms(t){return bo(b_(t))}function y_({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(b_)}}function b_({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}var v_=at({first:0,last:255}),LS=[at({first:0,last:0}),at({first:0,last:31})],CS=at({first:1,last:255}),DS=J.map(t=>11+t),BS=new Map(J.map(t=>[t,Xn(t).map(e=>11+e)])),S_=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],hr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#i=!1;constructor(e){this.#t=e}get isComplete(){return this.#i||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#u():this.#a()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#i=!0;return}let r=S_.find(o=>o.token===e);b(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#a(){let r=S_.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#u(){let e=this.#n;return this.#o===8?e.length===0?DS:BS.get(e[0])??[]:this.#o===5?LS[e.length]??v_:this.#o===7&&e.length===2&&e[0]+e[1]===0?CS:v_}};async function*k_(t,e,r){let o=US(e,t.config.sequenceLength),{count:n}=r,s=i=>new Ha(o,i,r);for await(let i of fs(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function ZS(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Bt({source:o,destination:o,timeS:s,context:r},e)}function US(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new y("Cannot sample between addresses of different versions: expected two addresses of one version");let s=new Uint16Array(e+1),i=new Ve(s),a=ZS(t,e);Ra(a,n);for(let h of a)i.write(h,st);let{at:u,previousTimeS:c}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(h=>l[h]),...p.filter(h=>!l[h]),"result"]);let g=(Number(l.source)+Number(l.destination))*(1+f.length)+Vr(n,c);return{tokens:s.slice(0,u+1+g),start:u,hasEarlierTime:c!==null}}var Ha=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new hr(o);for(let u of e.subarray(r+1))this.#t.push(u);this.#r=new De(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=ls(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=wp(Uint16Array.from(this.#e)).at(-1);return b(e,"a sample has a measurement"),e}};var gr=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Ka=1024;function Ga(t){return new Pe(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var hs=class{#e;#t;#r=new gr;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Ka,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),we(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Ga(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),u=o??{},c={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(c,u),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(c,u),this.#i();try{return await s}finally{n?.removeEventListener("abort",l)}}#i(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#a(),o?0:r);this.#s={id:n,isLast:o}}async#a(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let o=this.#r.take();if(!o)break;e.push(o)}if(e.length===0)return;this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);let r=await this.#u(e);this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#a(),e.forEach((o,n)=>"error"in r?o.fail(r.error):o.settle(r.distributions[n])),this.#i()}async#u(e){try{let r=e.map(({query:o})=>o);return{distributions:await mr(()=>this.#e.rttDistributions(r))}}catch(r){return{error:r}}}};function E_(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var qS=["time","source","destination","result"];async function jS(t,e,r){let o=FS(e,t.config.sequenceLength),n=await HS(t,o),s=a=>new Va(o,n,{index:a,seed:r.seed}),i=fs(t.decoders,o.prompt,{count:r.numDraws,begin:s});return KS(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function FS({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=xo(s,{context:o,order:qS,sequenceLength:n}),a=1+t.bytes.length,u=i.length-1-2*a,c=["source","destination"].flatMap((d,p)=>{let m=d==="source"?t:e,g={kind:"role",token:i[u+p*a]},h=[...m.bytes.keys()].map(w=>({kind:"byte",side:d,index:w,range:om(m,w)}));return[g,...h]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=c.findIndex(l);return{prompt:i.slice(0,u+f),fixed:c.slice(0,f),drawn:c.slice(f,c.findLastIndex(l)+1)}}async function HS(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var Va=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new De(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=c_(e,s)),this.lastToken=ls(e,{tokens:at(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function KS({source:t,destination:e},r){let o=new Map;for(let{mass:u,...c}of r){let l=`${c.source} ${c.destination}`,f=o.get(l);f?f.count++:o.set(l,{...c,count:1})}let n=r.map(({mass:u})=>u.destination),s=r.length,i=n.reduce((u,c)=>u+c,0)/s,a=n.reduce((u,c)=>u+(c-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:Q(t)?null:r[0].mass.source,destinationProbability:Q(e)?null:i,destinationProbabilityError:Q(t)||Q(e)?0:Math.sqrt(a/s)}}function GS(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var Wa=class{#e=0;#t=0;#r=new _r;#o=0;#n=new _r;#s=new _r;#i=new _r;#a=new Float64Array(he.length);#u=new Float64Array(he.length);#c=new Float64Array(he.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#i.add({y:i,w:i,count:r});let a=0;for(let u=0;u<n.length;u++){let c=s*n[u];a+=c,this.#a[u]+=r*c,this.#u[u]+=r*a*a,this.#c[u]+=r*a*s}}mixture(){let e=this.#e;b(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new _t(this.#r.sum/e,this.#a.map(a=>a/r.sum),this.#o/e),n=(a,u,c=r)=>{let l=a.squares-2*u*a.products+u**2*c.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/c.sum},s=a=>{let u=o.indexOf(a);return n({squares:this.#u[u],products:this.#c[u]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#i.sum===0?0:n(this.#s,this.#s.sum/this.#i.sum,this.#i),quantileErrorMs:a=>{let u=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+u))-o.quantileMs(Math.max(0,a-u)))/2}}}},_r=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}},A_=124,VS=64;async function Ya(t,e,r={}){let o="source"in e?e:Na(e),{numDraws:n=VS,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: expected a whole number of at least 2`);if(Q(o.source)&&Q(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return gs(await t.rttDistribution(d))}let{pairs:a,...u}=await jS(t,o,{numDraws:n,seed:s}),c=new Wa;for(let l=0;l<a.length;l+=A_){let f=a.slice(l,l+A_),d=f.map(({source:m,destination:g})=>({...o,source:m,destination:g}));(await t.rttDistributions(d)).forEach((m,g)=>c.add(m,f[g].count)),i(l+f.length,a.length)}return{mixture:c.mixture(),...u}}function gs(t){return{mixture:GS(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function T_({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??E_(r,s),a=e.context?0:r.length-i.length,u={source:o.bytes,destination:n.bytes,timeS:s,context:i},c={...u,context:Bt(u,t)};return we(c,t),{query:{...e,context:e.context&&c.context},first:c,numContext:i.length,numContextLater:a}}function z_({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}var WS=4;function $_(t,e){let{quantiles:r,atMs:o=[]}=e,{distribution:n}=t.mixture,{pFailed:s,meanMs:i,canonicalMass:a}=n;return{pFailed:s,meanMs:Number(i.toPrecision(WS)),likeliest:n.likeliest(),quantilesMs:O_(r,u=>n.quantileMs(u)),canonicalMass:a,...o.length>0&&{at:o.map(u=>YS(n,u))},...t.mixture.numDraws>0&&{drawn:JS(t,{quantiles:r,atMs:o})}}}function YS(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=mn(he[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function JS(t,{quantiles:e,atMs:r=[]}){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:u,pFailedError:c,meanErrorMs:l}=o;return{numDraws:a,numDistinct:u,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:c,meanMs:l,quantilesMs:O_(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function O_(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}function Xa(t){return Ja(t)}function Ja(t){if(Array.isArray(t))return t.map(Ja);if(typeof t!="object"||t===null)return t;let e=Object.entries(t).map(([r,o])=>[r.replace(/[A-Z]/g,n=>`_${n.toLowerCase()}`),Ja(o)]);return Object.fromEntries(e)}var P_={v1:{byteBase:10,roleNames:Yd,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:fn,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var Qa=new Set([5,6,7]);function XS(t){return t?Gr:Gr.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function M_(t,e,r={}){let o=e.map(s=>QS(s,r.order,t.config)),n=await rk(t,o);return o.map(({orders:s})=>sk(s.map(i=>nk(i,n.get(i)??[]))))}function QS(t,e,r){let o=tk(t.measurement,e),n=ek(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=P_[r.vocabulary],a=[...n.keys()].filter(c=>c>=s&&i(n[c])),u=new Map(o[0].map((c,l)=>[c,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(c=>{let l=c.map(f=>u.get(f)??[]);return{order:c,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function ek({measurement:t,rttMs:e,context:r},o,n){let s=En(n);if(!s)return xo(t,{context:r,order:o,sequenceLength:n.sequenceLength});b(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(er(i));return new tr(a,an(s)).writeFields(i,o),a}function tk({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:XS(t!==null)}async function rk(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?ok:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function ok(t,e){let r=t.some(s=>Qa.has(s)),o=new hr(e.some(s=>Qa.has(s))),n=s=>s!==0&&(r||!Qa.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function nk({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:So(a)}}),bits:So(r)}}function sk(t){let e=t.map(({bits:i})=>i),r=So(e)/e.length,o=Math.sqrt(So(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(So(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function So(t){return t.reduce((e,r)=>e+r,0)}async function*eu(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*tu(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>ik(r)})}async function ru(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*ou(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function ik(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new y("found no JSON, expected a JSON object",{cause:e}):e}}var ak=65536,uk=256,_s=class{maxContext;sequenceLength;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=1/0,o=ak){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#i(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#i(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r,o){this.#i(r);let n=this.#r.get(e),s=this.#t.get(e)?.filter(({order:u})=>u>=(n?.endOrder??0))??[],i=n?[...n.context,...s.map(({measurement:u})=>u)]:[];if(!n||i.length>this.maxContext||I_([...i,o])>this.sequenceLength)for(i=this.contextOf(e,r,Math.ceil(this.maxContext/2));I_(i)>this.sequenceLength/2;)i.shift();let a=this.#t.get(e)?.at(-1);return this.maxContext>0&&this.#r.set(e,{context:i,endOrder:(a?.order??-1)+1}),i}#i(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#a(r);this.#s=[],this.#e.length>2*this.#o+uk&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#a(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#u(r[0]):this.#o>this.maxKept&&this.#u(this.#e.find(({isDropped:o})=>!o))}#u(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function I_(t){let e=null;return t.reduce((r,o)=>{let n=Ge(o,e);return e=o.timeS??e,r+n},0)}function R_({source:t,destination:e}){return`${t} ${e}`}var ck=.01,ws=J.map(Xn),N_=ws.map(({length:t})=>t),nu=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=ck){this.logLikelihood=Ig(e,{outcome:r,first:o,second:n});let i=wo(r);this.#e=qe(o,J).probabilities.map(u=>u*(1-i));let a=e===null?-1:J.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:u}=qe(n,ws[a]);this.#t=this.#e[a]*u[ws[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of qe(r,ws[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,N_[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<N_[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}},L_=16,C_=2**32;async function B_(t,e,r){let o=[],n=[],s=0,i=0,a=fk(e,t.config.sequenceLength),u=a.map(({tokens:c})=>dk(c,t.config.sequenceLength));return await t.decoders.withPrompts(u,1,async(c,l,f)=>{let d=a.slice(f,f+l.length);i+=l.reduce((x,{length:k})=>x+k,0);let p=d.flatMap(x=>x.numbers),m=p.map(x=>e[x]),g=await pk(c,l,{part:m,ends:d.map(({ends:x})=>x),...r}),h=mk(g,m,c.extent.maxRows).map(x=>(s+=x.bytes.length,hk(c,g,x))),w=Promise.all(h.toArray()).then(()=>g.forEach((x,k)=>o[p[k]]=lk(x,m[k].number,r.seed)));w.catch(()=>{}),n.push(w)}),await Promise.all(n),{scores:o,numExpanded:s,numTokens:i}}function lk(t,e,r){let o=new De(r,"score/p-value",e%C_,Math.floor(e/C_));return{logLikelihood:t.logLikelihood,pValue:t.pValue(o.float64())}}function fk(t,e){let r=[],o=new Map;return t.forEach(({measurement:n,context:s},i)=>{let{rttCode:a}=n,u=we({...n,context:s},e),c=a===null?[10]:[8,11+(a>>8),11+(a&255)],l=Uint16Array.from([...u,...c]),f=D_(u.subarray(0,u.lastIndexOf(0))),d=s.length>0?o.get(f):void 0;o.delete(f),d||r.push(d={tokens:l,ends:[],numbers:[]}),d.tokens=l.subarray(0,u.length+Math.min(c.length,2)),d.ends.push(d.tokens.length),d.numbers.push(i),o.set(D_(l),d)}),r}function dk(t,e){let r=new Uint16Array(Math.min(Math.ceil(t.length/L_)*L_,e));return r.set(t),r}function D_(t){return String.fromCharCode(...t)}async function pk(t,e,{part:r,ends:o,maxRelativeError:n}){let s=G(t.config),i=r.flatMap(({measurement:l},f)=>l.rttCode===null?[f]:[]),[a,u]=await Promise.all([t.prefill(e,{numLast:3,ends:o}),Z_(t,r.length,{prompts:i,steps:[i.map(()=>8)]})]),c=0;return r.map(({measurement:{rttCode:l}},f)=>{let[d,p,m]=[0,1,2].map(h=>fe(a,3*f+h,s)),g=l===null?{outcome:p,first:fe(u,c++,s),second:m}:{outcome:d,first:p,second:m};return new nu(l,g,n)})}function*mk(t,e,r){for(let o of[!1,!0]){let n=t.flatMap(({needed:s},i)=>e[i].measurement.rttCode===null===o?s.map(a=>({prompt:i,index:a})):[]);for(let s=0;s<n.length;s+=r)yield{bytes:n.slice(s,s+r),areFailed:o}}}async function hk(t,e,{bytes:r,areFailed:o}){let n=G(t.config),s=o?[r.map(()=>8)]:[],i=await Z_(t,e.length,{prompts:r.map(({prompt:a})=>a),steps:[...s,r.map(({index:a})=>11+J[a])]});r.forEach(({prompt:a,index:u},c)=>e[a].addSecondBytes(u,fe(i,c,n)))}async function Z_(t,e,{prompts:r,steps:o}){if(r.length===0)return new Float32Array;let n=Array.from({length:e},()=>0);for(let s of r)n[s]++;return t.fork(n,{numDropped:1}),(await Promise.all(o.map(s=>t.step(s))))[o.length-1]}var gk=2**14,su=class{maxContext;sequenceLength;maxKept;#e;#t;constructor(e,r=1/0,o=gk){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new _s(this.maxContext,this.sequenceLength,this.maxKept/2),newestUs:0},{history:a}=i,u=_k(r)??i.newestUs+1,c=u<i.newestUs;i.newestUs=Math.max(i.newestUs,u);let l=R_(e),f=(c?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs,e)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function _k(t){let e=rs(String(t??""));return"timeUs"in e?e.timeUs:void 0}var wk=256;async function*q_(t,e,{context:r,seed:o,signal:n}){let s=new su(r,t.config.sequenceLength),i=[];for await(let a of e){let u=xk(a,s,t.config.sequenceLength);i.push(u),!(i.length<wk)&&(n?.throwIfAborted(),yield*U_(t,i,o),i=[])}n?.throwIfAborted(),yield*U_(t,i,o)}function xk({line:t,read:e},r,o){try{let n=wt(dr,e()),s=ms(n),i=r.contextOf(s,n.timestamp);return we({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof y)return{line:t,error:n.message};throw n}}async function*U_(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await mr(()=>B_(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:u,rtt:c},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],m={src_addr:a,dst_addr:u,timestamp:l.timeS,rtt:c};yield{line:f+1,answer:{...m,log_likelihood:d,p_value:p}}}}function yk(t,e){let{rtt:r,prefix_length:o,...n}=wt(Qg,e),{src_addr:s,timestamp:i,context:a,top:u,candidates:c,max_expansions:l}=n,f={...Fa({src_addr:s,timestamp:i,context:a}),rttMs:r};us(r);let d=cs(f,o),p=Bt({...f,destination:f.source},t.config.sequenceLength),m={src_addr:s,rtt:r,timestamp:f.timeS,prefix_length:d,context_measurements:p.length};return async g=>{let[h]=await w_(t,[f],{...u!==void 0&&{top:u},...c!==void 0&&{numCandidates:c},...l!==void 0&&{maxExpansions:l},prefixLength:d,signal:g}),{trainingData:w}=t;return{...m,destinations:h.destinations.map(({prefix:x,probability:k})=>({prefix:We(x),probability:k,measured:w?so($n(w,f.source,x)):null})),unlisted_probability:h.unlistedProbability,candidates:h.candidates,prior_mass:h.priorMass,step:t.step}}}var bk=8,vk=4,Sk=.5;async function kk(t){let e=new Map,r={count:bk,seed:0,temperature:Sk};for await(let{source:o,destination:n}of k_(t,{timeS:null,context:[]},r)){let s={src_addr:ee(o),dst_addr:ee(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,vk)}async function*Ek(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],u=s?.then(f=>({next:f})),c=a?.then(f=>({value:f})),l=await Promise.race([c,u].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(Ak(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function Ak(t){return t.catch(()=>{}),t}var iu=class{maxQueue;#e;#t;constructor(e=Ka){this.maxQueue=e,this.#e=new gr,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Ga(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}},Tk=[.05,.25,.5,.75,.95],zk=[.001,.999];function $k(t,{quantiles:e=Tk,at:r=[],cdf:o},{step:n,trainingData:s}){let{query:{src:i,dst:a,source:u,destination:c,timeS:l},answer:f,numContextUsed:d}=t,p=z_(t);return{src_addr:i,dst_addr:a,timestamp:l,context_measurements:d,...Xa($_(f,{quantiles:e,atMs:r})),...o!==void 0&&{cdf:Ok(f.mixture.distribution,o)},basis:lm(cm(s,u,c)),...p.length>0&&{notes:p},step:n}}function Ok(t,e){let[r,o]=zk.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rtt_ms:i,cdf:t.cdf(i)}})}var Pk=124,Mk=20,xs=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new hs(e,o),this.#n=new iu(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#i(ja(e),{signal:r})}async rttBatch(e,r){return await ru(this.#s(eu(j_(e)),{},r))}rttLines(e,r={},o){return ou(this.#s(tu(e),r,o))}async destinations(e,r){let o=yk(this.#e,e);return await this.#a(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=wt(e_,e),s=ms(n),{context:i}=Fa({...n,context:o});we({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[u]=await this.#a(()=>M_(this.#e,[a]),{signal:r}),{meanBits:c,spreadBits:l,totalBits:f}=u,d=u.orders.map(({blocks:m,bits:g})=>({order:m.map(({field:h})=>h).join(),bits:g,blockBits:Object.fromEntries(m.map(({field:h,bits:w})=>[h,w]))})),p=Xa({meanBits:c,spreadBits:l,totalBits:f,orders:d});return{...n,timestamp:s.timeS,...p,step:this.#e.step}}async score(e,r={},o){return await ru(this.#u(eu(j_(e)),r,o))}scoreLines(e,r={},o){return ou(this.#u(tu(e),r,o))}async model(){return this.#r??=this.#a(()=>kk(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=wt(Ca,r),s={lane:{},signal:o};yield*Ek(e,async({line:a,read:u})=>{try{return{line:a,answer:await this.#i(ja(u(),n),s)}}catch(c){if(!(c instanceof Error)||as(c).status!==400)throw c;return{line:a,error:c.message}}},Pk)}async#i({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=T_(s,e,[]),u=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return $k(d,r,s)};if(Q(e.source)&&Q(e.destination))return await this.#o.ask(i,f=>u(gs(f)),n);let c={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#a(async()=>u(await Ya(s,c,{...o,onProgress:l})),n)}async#a(e,r){return await this.#n.run(()=>mr(e),r)}async*#u(e,r,o){let{context:n=Mk,seed:s=0}=wt(t_,r);yield*q_(this.#e,e,{context:n,seed:s,signal:o})}};function j_(t){if(Array.isArray(t))return t;throw new Pe(400,"Cannot answer: found no array, expected one")}var Xe=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],ys=class t{#e;#t;constructor(e,r){b(F_(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return b(r>0,"a calibration needs measurements"),new t(Xe.map((o,n)=>{if(n===0||n===Xe.length-1)return o;let s=Lk(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=Rk(e,r);if(!F_(o)){let u=`expected ${Xe.length} numbers that rise from 0 to 1`;throw new X(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new X(`${a}, expected one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026); run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return Nk(Xe,this.#e,e)}massOf({below:e,within:r}){let o=Math.min(1,e+r),n=Xe.findIndex((a,u)=>a>e||u===Xe.length-1);if(o>Xe[n])return this.shareBelow(o)-this.shareBelow(e);let[s,i]=[Xe[n-1],Xe[n]];return r*(this.#e[n]-this.#e[n-1])/(i-s)}apply({pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}){let s=new Float64Array(r.length),i=0,a=0;for(let u=0;u<r.length;u++){i+=r[u];let c=this.shareBelow(Math.min(1,i));s[u]=c-a,a=c}return new _t(e,s,o,n)}},Ik=N({run:N({checkpoint:z(),step:M(),modelSha256:z()}),calibration:N({shares:Y(v())})});function Rk(t,e){try{return Ik.parse(JSON.parse(t))}catch(r){let o=r instanceof Xo&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="expected the report.json of an eval whose data has a validation split";throw new X(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function F_(t){return t.length===Xe.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function Nk(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function Lk({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}async function Ck(t){let e=await K_(t,{cache:"no-cache"});return r_(await e.text(),t.href)}async function Dk(t,e,r){let o=new is(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await Bk(l,f,o,m=>r(i+m,n)),p=fu(n_(d,f.href),t.formatVersion,e.href);for(let[m,g]of p)s.set(m,g);i+=l.sizeBytes}let{step:a,config:u,model_sha256:c}=t.model;return{directory:e.href,config:{model:Ji(u.model)},state:{step:a,files:{model:{sha256:c}}},weights:s}}async function Bk(t,e,r,o){o(0);let n=await r.get(t);if(n&&await H_(n,t)===void 0)return n;let s=await Zk(t,e,o),i=await H_(s,t);if(i)throw new y(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function H_(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, expected ${e.slice(0,12)}\u2026: it was damaged or replaced`}async function Zk({sizeBytes:t},e,r){let{body:o}=await K_(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new y(`Cannot use the model from ${e.href}: found ${a} bytes, expected ${t}; load the page again`);try{let a=o?.getReader();for(let u=await a?.read();u?.value;u=await a?.read()){if(s+u.value.length>t)throw i("more");n.set(u.value,s),s+=u.value.length,r(s)}}catch(a){throw a instanceof y?a:au(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function K_(t,e){let r;try{r=await fetch(t,e)}catch(o){throw au(t,"the server did not answer",o)}if(r.ok)return r;throw au(t,`the server answered ${r.status}`)}function au(t,e,r){return new y(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var Uk=2**28,qk={src:"192.0.2.1",dst:"192.0.2.2"},jk=100,G_=globalThis,wr=t=>G_.postMessage(t),uu=new Map,cu;G_.onmessage=async({data:t})=>{t.kind==="abort"?uu.get(t.id)?.abort():t.kind==="ask"?await Vk(t):await Fk(new URL(t.site))};async function Fk(t){try{cu=await Hk(t),wr({kind:"ready"})}catch(e){wr({kind:"status",status:{state:"failed",message:V_(e,"run the model here")}})}}async function Hk(t){let e=await Kk(),r=await Ck(t);Gk(r,e);let o=-1/0,n=await Dk(r,t,(i,a)=>{performance.now()-o<jk||(o=performance.now(),wr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});wr({kind:"status",status:{state:"starting"}});let s=await ns.from(n,{memoryLimitBytes:Uk,...r.calibration&&{calibration:new ys(r.calibration)}});return await s.rttDistribution(qk),new xs(s,{info:r.model})}async function Kk(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new y(`Cannot run the model here: ${e}, expected WebGPU; ${r}`)}function Gk({model:{config:t}},e){let r=Ji(t.model),o=ur(s=>Ct(r,s)),n=Nt(e);if(!(o<=n))throw new y(`Cannot run the model here: its largest tensor has ${it(o)}, expected at most ${it(n)} on this GPU; open the page on a larger machine, or ask for a smaller model`)}async function Vk({id:t,operation:e,args:r}){let o=new AbortController;uu.set(t,o);try{if(!cu)throw new y("Cannot answer: the model is not loaded");wr({kind:"answer",id:t,answer:await Wk(cu,e,[...r,o.signal])})}catch(n){wr({kind:"problem",id:t,detail:V_(n,"answer")})}finally{uu.delete(t)}}async function Wk(t,e,r){return await t[e].apply(t,r)}function V_(t,e){let{status:r,detail:o}=as(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
