var q_=Object.defineProperty;var Us=(t,e)=>{for(var r in e)q_(t,r,{get:e[r],enumerable:!0})};var y=class extends Error{name="UserError";exitCode=1},Ro=class extends y{name="UsageError";exitCode=2},W=class extends y{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Me=class extends Ro{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},B=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},Er=class extends y{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to continue`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function b(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function D(t,e){let r=t.get(e);return b(r!==void 0,`there is no ${e}`),r}function No(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}var Zs=2,f2={format:"pt",format_version:String(Zs)},Zc="wpe.",j_="address_embed.";function qs(t,e){let r=Number(t??1);if(!(Number.isInteger(r)&&r>=1&&r<=Zs))throw new y(`Cannot read ${e}: found format version ${t}, expected 1 to ${Zs}; use the version of the program that wrote it`)}function qc(t,e,r){if(qs(e,r),Number(e??1)>1)return new Map(t);let o=n=>n.startsWith(Zc)?j_+n.slice(Zc.length):n;return new Map([...t].map(([n,s])=>[o(n),s]))}var A={};Us(A,{BIGINT_FORMAT_RANGES:()=>Bo,CONSTANT_CATCH:()=>eu,Class:()=>Hs,NUMBER_FORMAT_RANGES:()=>$r,aborted:()=>xe,allowsEval:()=>Ys,assert:()=>V_,assertEqual:()=>F_,assertIs:()=>K_,assertNever:()=>G_,assertNotEqual:()=>H_,assignProp:()=>Se,attachSchema:()=>Or,base64ToUint8Array:()=>Xc,base64urlToUint8Array:()=>px,cached:()=>Ar,captureStackTrace:()=>Co,cleanEnum:()=>dx,cleanRegex:()=>Tr,clone:()=>ke,cloneDef:()=>J_,codePointLength:()=>Mr,constantCatch:()=>tu,createTransparentProxy:()=>ox,defineLazy:()=>Hc,defineLazyInternal:()=>C,derived:()=>wx,esc:()=>Vs,escapeRegex:()=>rt,explicitlyAborted:()=>Qs,extend:()=>ix,finalizeIssue:()=>Ie,floatSafeRemainder:()=>Gs,getElementAtPath:()=>X_,getEnumValues:()=>Jt,getLengthableOrigin:()=>Pr,getParsedType:()=>rx,getSizableOrigin:()=>Jc,hexToUint8Array:()=>mx,hide:()=>qo,installLazyProp:()=>bx,isObject:()=>Yt,isPlainObject:()=>pt,issue:()=>Qt,joinValues:()=>Lo,jsonStringifyReplacer:()=>Xt,members:()=>ti,merge:()=>cx,mergeDefs:()=>tt,normalizeParams:()=>E,nullish:()=>Ks,numKeys:()=>tx,objectClone:()=>W_,omit:()=>sx,optionalKeys:()=>Xs,own:()=>dt,parsedType:()=>ei,partial:()=>ux,pick:()=>nx,prefixIssues:()=>Pe,primitiveTypes:()=>Wc,promiseAllObject:()=>Q_,propertyKeyTypes:()=>Js,randomString:()=>ex,rawShape:()=>zr,required:()=>lx,safeExtend:()=>ax,shallowClone:()=>Vc,sizeCaps:()=>Zo,slugify:()=>Ws,stringifyPrimitive:()=>Do,toZod:()=>Fc,uint8ArrayToBase64:()=>Qc,uint8ArrayToBase64url:()=>hx,uint8ArrayToHex:()=>gx,unwrapMessage:()=>Wt});function F_(t){return t}function H_(t){return t}function Fc(){return t=>t}function K_(t){}function G_(t){throw new Error("Unexpected value in exhaustive check")}function V_(t){}function Jt(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function Lo(t,e="|"){return t.map(r=>Do(r)).join(e)}function Xt(t,e){return typeof e=="bigint"?e.toString():e}var Fs=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function Ar(t){return new Fs(t)}function Ks(t){return t==null}function Tr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function Gs(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var jc=Symbol("evaluating");function Hc(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==jc)return o===void 0&&(o=jc,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function W_(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function Se(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function zr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function et(t){return zr(t._zod.def)??t._zod.def.shape}function Kc(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return Se(this,e,o),o},enumerable:!0,configurable:!0})}function Gc(t,e,r){e in t?Se(t,e,r):t[e]=r}function At(t,e,r,o){let n=et(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?Kc(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):Gc(t,s,o?o(i.value,s):i.value))}}function Y_(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?Kc(t,r,()=>e[r]):Gc(t,r,o.value))}}function tt(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function J_(t){return tt(t._zod.def)}function X_(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function Q_(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function ex(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Vs(t){return JSON.stringify(t)}function Ws(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var Co="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function Yt(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Ys=Ar(()=>{if(pe.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function pt(t){if(Yt(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(Yt(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function Vc(t){return pt(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function tx(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var rx=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},Js=new Set(["string","number","symbol"]),Wc=new Set(["string","number","bigint","boolean","symbol","undefined"]);function rt(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function ke(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function E(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function ox(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function Do(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function Xs(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var $r={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},Bo={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function nx(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return At(s,t,Uo(t,e)),ke(t,tt(r,{shape:s,checks:[]}))}function Uo(t,e){let r=et(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function sx(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(Uo(t,e)),i={};return At(i,t,Reflect.ownKeys(et(t)).filter(a=>!s.has(a))),ke(t,tt(r,{shape:i,checks:[]}))}function ix(t,e){if(!pt(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=et(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return ke(t,tt(t._zod.def,{shape:Yc(t,e)}))}function Yc(t,e){let r={};return At(r,t,Reflect.ownKeys(et(t))),Y_(r,e),r}function ax(t,e){if(!pt(e))throw new Error("Invalid input to safeExtend: expected a plain object");return ke(t,tt(t._zod.def,{shape:Yc(t,e)}))}function cx(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};At(r,t,Reflect.ownKeys(et(t))),At(r,e,Reflect.ownKeys(et(e)));let o=tt(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return ke(t,o)}function ux(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(Uo(e,r)):void 0,c={};return At(c,e,Reflect.ownKeys(et(e)),t&&((u,l)=>a&&!a.has(l)?u:new t({type:"optional",innerType:u}))),ke(e,tt(e._zod.def,{shape:c,checks:[]}))}function lx(t,e,r){let o=r?new Set(Uo(e,r)):void 0,n={};return At(n,e,Reflect.ownKeys(et(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),ke(e,tt(e._zod.def,{shape:n}))}function xe(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Qs(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Pe(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function Wt(t){return typeof t=="string"?t:t?.message}function Zo(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function Or(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Ie(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:Wt(t.inst?._zod.def?.error?.(t))??Wt(s?.(t))??Wt(e?.error?.(t))??Wt(r.customError?.(t))??Wt(r.localeError?.(t))??"Invalid input",a={};for(let c of Object.keys(t))c==="inst"||c==="schema"||c==="continue"||c==="input"||c==="__proto__"||(a[c]=t[c]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function Jc(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var fx=/[\uD800-\uDBFF]/;function Mr(t){let e=t.length;if(!fx.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function Pr(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function ei(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Qt(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function dx(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function Xc(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function Qc(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function px(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return Xc(e+r)}function hx(t){return Qc(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function mx(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function gx(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var Hs=class{constructor(...e){}};function ti(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):_x(t,r,o.value)}}function dt(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function qo(t,e,r){return dt(t,e,r,!1)}function wx(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return dt(this,r,o(this))},set(n){dt(this,r,n)}})}return e}function _x(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:dt(this,e,r.bind(this))},set(o){dt(this,e,o)}})}function xx(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var js,ft=!1,yx={configurable:!0,get(){ft=!0}};function C(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&js!==t._zod){js=void 0;return}js=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,yx);let n=ft;ft=!1;try{let s=r(this);return ft?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),ft=ft||n,s}catch(s){throw delete this[e],ft=ft||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function bx(t,e,r,o){let n=xx(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var eu="~constantCatch";function tu(t){let e=()=>t;return e[eu]=!0,e}var ru;var ri={value:void 0,enumerable:!1},ou="captureStackTrace"in Error?Error:null;function vx(t){let e=ou;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return ou=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function _(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function c(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{ri.value=new s(p);try{Object.defineProperty(d,"_zod",ri)}finally{ri.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let g=Object.getPrototypeOf(d),m=d._zod.constr.prototype,w=g;for(;w&&w!==m;)w=Object.getPrototypeOf(w);let x=w??g;a.has(x)||(a.add(x),ti(x,i))}let h=f.prototype;for(let g in h)Object.prototype.hasOwnProperty.call(h,g)&&(g in d||(d[g]=h[g].bind(d)))}let u=o?.Parent??Object;class l extends u{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?vx(l):this;c(p,d);let h=p._zod.deferred;if(h){for(let m of h)m();p._zod.deferred=void 0}let g=globalThis.__zod_globalConfig?.postProcessor;return g&&g(p),p}return Object.defineProperty(f,"init",{value:c}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Re=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},er=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(ru=globalThis).__zod_globalConfig??(ru.__zod_globalConfig={});var pe=globalThis.__zod_globalConfig;function me(t){return t&&Object.assign(pe,t),pe}function Sx(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Xt,2)),t.message}function kx(t){this._zod.message=t}var Ex={get:Sx,set:kx,enumerable:!0,configurable:!0},ni={value:void 0,enumerable:!1},nu=new WeakSet([Object.prototype,Error.prototype]),su=(t,e)=>{t.name="$ZodError",ni.value=e,Object.defineProperty(t,"issues",ni),ni.value=void 0,Object.defineProperty(t,"message",Ex);let r=Object.getPrototypeOf(t);nu.has(r)||(nu.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},iu=_("$ZodError",su),g2=_("$ZodError",su,void 0,{Parent:Error});function Ax(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function si(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?Ax(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function ii(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let c=r,u=0;for(;u<a.length;){let l=a[u],f=u===a.length-1;if(l==="_errors"){f&&c._errors.push(e(i)),u++;continue}Object.prototype.hasOwnProperty.call(c,l)||Object.defineProperty(c,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=c[l];f&&d._errors.push(e(i)),c=d,u++}}}};return o(t),r}function jo(t,e){return{callee:e?.callee??t,Err:e?.Err}}var Fo=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Re;if(a.issues.length){let c=new(s?.Err??t)(a.issues.map(u=>Ie(u,i,me())));throw Co(c,s?.callee??e),c}return a.value};return e};var Ho=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let c=new(s?.Err??t)(a.issues.map(u=>Ie(u,i,me())));throw Co(c,s?.callee??e),c}return a.value};return e};var Ko=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Re;return s.issues.length?au(t,s.issues,n):{success:!0,data:s.value}};function au(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Ie(n,r,me()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Go=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?au(t,s.issues,n):{success:!0,data:s.value}};var Tx=Symbol.for("zod.compile.invalid"),zx=Symbol.for("zod.compile.fallback"),ai=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==Tx)return!0;if(o.definite===!0&&r===void 0)return!1}return $x(t,e,r)};function $x(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[zx]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Re;return s.issues.length===0}var ci=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},cu=t=>{let e=Fo(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,jo(r,i))};return r};var uu=t=>{let e=Fo(t),r=(o,n,s,i)=>e(o,n,s,jo(r,i));return r};var lu=t=>{let e=Ho(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,jo(r,i))};return r};var fu=t=>{let e=Ho(t),r=async(o,n,s,i)=>await e(o,n,s,jo(r,i));return r};var du=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Ko(t)(e,r,n)};var pu=t=>(e,r,o)=>Ko(t)(e,r,o);var hu=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Go(t)(e,r,n)};var mu=t=>async(e,r,o)=>Go(t)(e,r,o);var gu=/^[cC][0-9a-z]{6,}$/,wu=/^[0-9a-z]+$/,_u=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,xu=/^[0-9a-vA-V]{20}$/,yu=/^[A-Za-z0-9]{27}$/,bu=/^[a-zA-Z0-9_-]{21}$/;function vu(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Su=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var ku=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,li=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Eu=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var Ox="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Au(){return new RegExp(Ox,"u")}var Tu=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,zu=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var $u=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,Ou=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,Mu=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,Pu=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var Iu=/^https?$/,Ru=/^\+[1-9]\d{6,14}$/;var Nu="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function Mx(t){return new RegExp(`^${t}$`)}var Lu=Mx(Nu);function ui(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function Cu(t){return new RegExp(`^${ui(t)}$`)}function Du(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${ui({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${ui({precision:t.precision})}`:r;return new RegExp(`^${Nu}T(?:${o})$`)}var Bu=/^[\s\S]{0,}$/;var Uu=/^-?\d+n?$/,fi=/^-?\d+$/,Ir=/^-?\d+(?:\.\d+)?$/,Zu=/^(?:true|false)$/i;var qu=/^[^A-Z]*$/,ju=/^[^a-z]*$/;var ie=_("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var di=t=>{let e=t.value;return!Ks(e)&&e.length!==void 0},Vo={number:"number",bigint:"bigint",object:"date"},pi=_("$ZodCheckLessThan",(t,e)=>{ie.init(t,e);let r=Vo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:Vo[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),hi=_("$ZodCheckGreaterThan",(t,e)=>{ie.init(t,e);let r=Vo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:Vo[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),Fu=_("$ZodCheckMultipleOf",(t,e)=>{ie.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):Gs(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),Hu=_("$ZodCheckNumberFormat",(t,e)=>{ie.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=$r[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var Ku=_("$ZodCheckMaxLength",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=di),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?Mr(n):s)<=e.maximum)return;let a=Pr(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),Gu=_("$ZodCheckMinLength",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=di),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?Mr(n):s)>=e.minimum)return;let a=Pr(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),Vu=_("$ZodCheckLengthEquals",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=di),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?Mr(n):s;if(i===e.length)return;let a=Pr(n),c=i>e.length;o.issues.push({origin:a,...c?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Rr=_("$ZodCheckStringFormat",(t,e)=>{var r,o;ie.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),Wu=_("$ZodCheckRegex",(t,e)=>{Rr.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),Yu=_("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=qu),Rr.init(t,e)}),Ju=_("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=ju),Rr.init(t,e)}),Xu=_("$ZodCheckIncludes",(t,e)=>{ie.init(t,e);let r=rt(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),Qu=_("$ZodCheckStartsWith",(t,e)=>{ie.init(t,e);let r=new RegExp(`^${rt(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),el=_("$ZodCheckEndsWith",(t,e)=>{ie.init(t,e);let r=new RegExp(`.*${rt(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var tl=_("$ZodCheckOverwrite",(t,e)=>{ie.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var Wo=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var ol={major:4,minor:6,patch:7};var Z=_("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=ol;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,c,u)=>{if(a.memo)return a;let l=xe(a),f;for(let d of c){if(d._zod.def.when){if(Qs(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,h=d._zod.check(a);if(h instanceof Promise&&u?.async===!1)throw new Re;if(f||h instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await h,a.issues.length!==p&&(Or(a.issues,p,t),l||(l=xe(a,p)))});else{if(a.issues.length===p)continue;Or(a.issues,p,t),l||(l=xe(a,p))}}return f?f.then(()=>a):a},i=(a,c,u)=>{if(xe(a))return a.aborted=!0,a;let l=s(c,n,u);if(l instanceof Promise){if(u.async===!1)throw new Re;return l.then(f=>t._zod.parse(f,u))}return t._zod.parse(l,u)};t._zod.run=(a,c)=>{if(c.skipChecks)return t._zod.parse(a,c);if(c.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...c,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,c)):i(l,a,c)}let u=t._zod.parse(a,c);if(u instanceof Promise){if(c.async===!1)throw new Re;return u.then(l=>s(l,n,c))}return s(u,n,c)}}},{get"~standard"(){return qo(this,"~standard",gi(this))},set"~standard"(t){dt(this,"~standard",t)}}),wl=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Ie(r,e,me()))}:{value:t.value};async function Px(t,e){let r={async:!0};return wl(await t._zod.run({value:e,issues:[]},r),r)}function gi(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return wl(o,r)}catch{}return Px(t,e)},vendor:"zod",version:1}}var Qo=_("$ZodString",(t,e)=>{Z.init(t,e),t._zod.pattern=e.pattern??Bu,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),H=_("$ZodStringFormat",(t,e)=>{Rr.init(t,e),Qo.init(t,e)}),_l=_("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=ku),H.init(t,e)}),xl=_("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=li(o))}else e.pattern??(e.pattern=li());H.init(t,e)}),yl=_("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Eu),H.init(t,e)}),bl=1,Jo=2;function vl(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function Ix(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?vl(t)||Jo:Rx(t,e)}function Rx(t,e){if(!e.normalize&&e.protocol?.source===Iu.source&&!/^https?:\/\//i.test(t))return bl;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??Jo}return new URL(t)}catch{return Jo}}var Nx=/[\t\n\r]/g;function nl(t){return t.replace(Nx,"")}function Lx(t,e){return e.lastIndex=0,e.test(t.hostname)}function Cx(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Sl=_("$ZodURL",(t,e)=>{H.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=Ix(o,e);if(n===bl){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===Jo){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=nl(o);return}e.hostname&&!Lx(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!Cx(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:nl(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),kl=_("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Au()),H.init(t,e)}),El=_("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?bu:vu(e.length)),H.init(t,e)}),Al=_("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=gu),H.init(t,e)}),Tl=_("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=wu),H.init(t,e)}),zl=_("$ZodULID",(t,e)=>{e.pattern??(e.pattern=_u),H.init(t,e)}),$l=_("$ZodXID",(t,e)=>{e.pattern??(e.pattern=xu),H.init(t,e)}),Ol=_("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=yu),H.init(t,e)}),Ml=_("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=Du(e)),H.init(t,e)}),Pl=_("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=Lu),H.init(t,e)}),Il=_("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=Cu(e)),H.init(t,e)}),Rl=_("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Su),H.init(t,e)}),Nl=_("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=Tu),H.init(t,e)}),Dx=/^[0-9a-fA-F:.]+$/;function Ll(t){return Dx.test(t)?vl(`http://[${t}]`):!1}var Cl=_("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=zu),H.init(t,e),t._zod.check=r=>{Ll(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var Dl=_("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=$u),H.init(t,e)});function Bx(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:Ll(r)}var Bl=_("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=Ou),H.init(t,e),t._zod.check=r=>{Bx(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function Ul(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var wi=/^[0-9a-zA-Z+/]*={0,2}$/,Zl=_("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=wi),H.init(t,e),t._zod.check=r=>{Ul(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),en=/^[A-Za-z0-9_-]*$/;function Ux(t){if(!en.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return Ul(r)}var ql=_("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=en),H.init(t,e),t._zod.check=r=>{Ux(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),jl=_("$ZodE164",(t,e)=>{e.pattern??(e.pattern=Ru),H.init(t,e)});function Zx(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var Fl=_("$ZodJWT",(t,e)=>{H.init(t,e),t._zod.check=r=>{Zx(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var _i=_("$ZodNumber",(t,e)=>{Z.init(t,e),t._zod.pattern=Ir,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),Hl=_("$ZodNumberFormat",(t,e)=>{Hu.init(t,e),_i.init(t,e)}),Kl=_("$ZodBoolean",(t,e)=>{Z.init(t,e),t._zod.pattern=Zu,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),Gl=_("$ZodBigInt",(t,e)=>{Z.init(t,e),t._zod.pattern=Uu,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var Vl=_("$ZodUnknown",(t,e)=>{Z.init(t,e),t._zod.parse=r=>r}),Wl=_("$ZodNever",(t,e)=>{Z.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var Yl=_("$ZodDate",(t,e)=>{Z.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function qx(t,e){let r=Zo(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[c,u]of Zo(t._zod.def.checks))if(a>c&&u._zod.def.when(s)){let l=s.issues.length;return u._zod.check(s),s.issues[l].continue=!1,Or(s.issues,l,t),s}}return n(s,i)}}var jx=t=>Array.isArray(t)?t.length:-1;function sl(t,e,r){t.issues.length&&e.issues.push(...Pe(r,t.issues)),e.value[r]=t.value}var Jl=_("$ZodArray",(t,e)=>{Z.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let c=0;c<s.length;c++){let u=s[c],l=e.element._zod.run({value:u,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>sl(f,o,c)));else if(sl(l,o,c),a&&l.issues.length!==0&&xe(l))break}return i.length?Promise.all(i).then(()=>o):o},qx(t,jx)});function Xo(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Pe(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var Fx=[];function Xl(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:Fx,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=Xs(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function Ql(t,e,r,o,n,s,i){let a=[],c=n.keySet,u=n.catchall._zod,l=u.def.type,f=u.optin,d=u.optout,p=0;for(let h in e){if(i&&r.issues.length!==p){if(xe(r,p))break;p=r.issues.length}if(c.has(h))continue;if(h==="__proto__"){l==="never"&&a.push(h);continue}if(l==="never"){a.push(h);continue}let g=u.run({value:e[h],issues:[]},o);g instanceof Promise?t.push(g.then(m=>Xo(m,r,h,e,f,d))):Xo(g,r,h,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var Hx=_("$ZodObject",(t,e)=>{Z.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let u=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),u.raw=l,l};u.raw=o,Object.defineProperty(e,"shape",{get:u})}let n=Ar(()=>Xl(e));C(t,"propValues",u=>{let l=u.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||Se(f,d,new Set);for(let h of p.values)f[d].add(h);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=Yt,i=e.catchall,a,c=pe.memoizer;c?.attach(t),t._zod.parse=(u,l)=>{a??(a=n.value);let f=u.value;if(!s(f))return u.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),u;u.value=c?c.alloc(t,u,{},l):{};let d=[],p=a.shape,h=l?.abortEarly,g=u.issues.length;for(let m of a.allKeys){if(h&&u.issues.length!==g){if(xe(u,g))break;g=u.issues.length}if(m==="__proto__")continue;let w=p[m],x=w._zod.optin,T=w._zod.optout,I=w._zod.run({value:f[m],issues:[]},l);I instanceof Promise?d.push(I.then(k=>Xo(k,u,m,f,x,T))):Xo(I,u,m,f,x,T)}return i?Ql(d,f,u,l,n.value,t,h===!0):d.length?Promise.all(d).then(()=>u):u}}),ef=_("$ZodObjectJIT",(t,e)=>{Hx.init(t,e);let r=t._zod.parse,o=Ar(()=>Xl(e)),n=pe.memoizer,s=p=>{let h=o.value,g=h.symbolKeys,m=new Wo(["payload","ctx"],{shape:p,inst:t,memo:n,syms:g}),w=k=>`shape[${k}]._zod.run({ value: input[${k}], issues: [] }, ctx)`,x=(k,R)=>`
          let ${k}_ab = false;
          for (let i = 0; i < ${k}.issues.length; i++) {
            const iss = ${k}.issues[i];
            iss.path = iss.path ? [${R}, ...iss.path] : [${R}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${k}_ab = true;
          }
          if (${k}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;m.write("const input = payload.value;");let T=Object.create(null),I=0;for(let k of h.allKeys)T[k]=`key_${I++}`;m.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let k of h.allKeys){if(k==="__proto__")continue;let R=T[k],L=typeof k=="symbol"?`syms[${g.indexOf(k)}]`:Vs(k),V=`${L} in input`,j=p[k],Oe=j?._zod?.optin,Qe=Oe!==void 0,Q=j?._zod?.optout==="optional";if(m.write(`const ${R} = ${w(L)};`),Qe&&Q){let lt=Oe==="optional"?`${R}_present`:`${R}.value !== undefined || ${R}_present`;m.write(`
        const ${R}_present = ${V};
        if (!${R}.issues.length || ${R}_present) {
          if (${R}.issues.length) {${x(R,L)}
          }

          if (${lt}) {
            newResult[${L}] = ${R}.value;
          }
        }

      `)}else Qe?(m.write(`
        if (${R}.issues.length) {${x(R,L)}
        }
      `),Oe==="defaulted"?m.write(`newResult[${L}] = ${R}.value;`):m.write(`
        if (${R}.value !== undefined || ${V}) {
          newResult[${L}] = ${R}.value;
        }
      `)):m.write(`
        const ${R}_present = ${V};
        if (${R}.issues.length) {${x(R,L)}
        }
        if (!${R}_present && !${R}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${L}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${R}_present) {
          newResult[${L}] = ${R}.value;
        }

      `)}return m.write("payload.value = newResult;"),m.write("return payload;"),m.compile()},i,a=Yt,c=!pe.jitless,l=c&&Ys.value,f=e.catchall,d;t._zod.parse=(p,h)=>{d??(d=o.value);let g=p.value;return a(g)?c&&l&&h?.async===!1&&h.jitless!==!0?(i||(i=s(e.shape)),p=i(p,h),f?Ql([],g,p,h,d,t,h?.abortEarly===!0):p):r(p,h):(p.issues.push({expected:"object",code:"invalid_type",input:g,inst:t}),p)}});function il(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!xe(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Ie(i,o,me())))}),e)}var tf=_("$ZodUnion",(t,e)=>{Z.init(t,e),C(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),C(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),C(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),C(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>Tr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let c=a._zod.run({value:o.value,issues:[]},n);if(c instanceof Promise)i.push(c),s=!0;else{if(c.issues.length===0)return c;i.push(c)}}return s?Promise.all(i).then(a=>il(a,o,t,n)):il(i,o,t,n)}});var rf=_("$ZodIntersection",(t,e)=>{Z.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([c,u])=>al(r,c,u)):al(r,s,i)}});function mi(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(pt(t)&&pt(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=mi(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=mi(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function al(t,e,r){let o=new Map,n,s=new Map,i=(u,l)=>{let f;if(u.code==="unrecognized_keys"&&!u.path?.length)n??(n=u),f=u.keys;else if(u.code==="invalid_key"&&u.origin==="record"&&u.path?.length===1){let d=String(u.path[0]);s.has(d)||s.set(d,u),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let u of e.issues)i(u,"l")||t.issues.push(u);for(let u of r.issues)i(u,"r")||t.issues.push(u);let a=[...o].filter(([,u])=>u.l&&u.r).map(([u])=>u);if(a.length){let u=n?a.filter(l=>n.keys.includes(l)):[];u.length&&t.issues.push({...n,keys:u});for(let l of a)!u.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let c=mi(e.value,r.value);if(!c.valid){if(xe(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(c.mergeErrorPath)}`)}return t.value=c.data,t}var of=_("$ZodTuple",(t,e)=>{Z.init(t,e);let r=e.items,o=pe.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],c=cl(r,"optin"),u=cl(r,"optout");if(!e.rest){if(i.length<c)return n.issues.push({code:"too_small",minimum:c,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let h=r[p]._zod.run({value:i[p],issues:[]},s);h instanceof Promise?a.push(h.then(g=>{l[p]=g})):(l[p]=h,f&&!d&&h.issues.length&&(d=xe(h)))}if(e.rest&&!d){let p=r.length-1,h=i.slice(r.length),g=n.issues.length;for(let m of h){if(f&&n.issues.length!==g){if(xe(n,g))break;g=n.issues.length}p++;let w=e.rest._zod.run({value:m,issues:[]},s);w instanceof Promise?a.push(w.then(x=>ul(x,n,p))):ul(w,n,p)}}return a.length?Promise.all(a).then(()=>ll(l,n,r,i,u)):ll(l,n,r,i,u)}});function cl(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function ul(t,e,r){t.issues.length&&e.issues.push(...Pe(r,t.issues)),e.value[r]=t.value}function ll(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Pe(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var nf=_("$ZodRecord",(t,e)=>{Z.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!pt(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let c=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(c.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(h=>Ie(h,n,me())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(h=>{h.issues.length&&o.issues.push(...Pe(l,h.issues)),o.value[d]=h.value})):(p.issues.length&&o.issues.push(...Pe(l,p.issues)),o.value[d]=p.value)}let u;for(let l in s)if(!c.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else u=u??[],u.push(l);u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let c;for(let u of Reflect.ownKeys(s)){if(u==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,u))continue;let l=e.keyType._zod.run({value:u,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof u=="string"&&Ir.test(u)&&l.issues.length){let h=e.keyType._zod.run({value:Number(u),issues:[]},n);if(h instanceof Promise)throw new Error("Async schemas not supported in object keys currently");h.issues.length===0&&(l=h)}if(l.issues.length){e.mode==="loose"?o.value[u]=s[u]:a?(c=c??[],c.push(u)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(h=>Ie(h,n,me())),input:u,path:[u],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[u],issues:[]},n);p instanceof Promise?i.push(p.then(h=>{h.issues.length&&o.issues.push(...Pe(u,h.issues)),o.value[d]=h.value})):(p.issues.length&&o.issues.push(...Pe(u,p.issues)),o.value[d]=p.value)}c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var sf=_("$ZodEnum",(t,e)=>{Z.init(t,e);let r=Jt(e.entries),o=new Set(r);t._zod.values=o,C(t,"pattern",n=>{let s=Jt(n.def.entries).filter(i=>Js.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>rt(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),af=_("$ZodLiteral",(t,e)=>{Z.init(t,e);let r=new Set(e.values);t._zod.values=r,C(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?rt(s):s?rt(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var cf=_("$ZodTransform",(t,e)=>{Z.init(t,e),t._zod.optin="optional",pe.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new er(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Re;return r.value=n,r}});function fl(t,e){return t.value=e.issues.length?void 0:e.value,t}var xi=_("$ZodOptional",(t,e)=>{Z.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Tr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>fl(r,s)):fl(r,n)}return e.innerType._zod.run(r,o)}}),uf=_("$ZodExactOptional",(t,e)=>{xi.init(t,e),C(t,"values",r=>r.def.innerType._zod.values),C(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),lf=_("$ZodNullable",(t,e)=>{Z.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Tr(o.source)}|null)$`):void 0}),C(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),ff=_("$ZodDefault",(t,e)=>{Z.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>dl(s,e)):dl(n,e)}});function dl(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var df=_("$ZodPrefault",(t,e)=>{Z.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),pf=_("$ZodNonOptional",(t,e)=>{Z.init(t,e),C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>pl(s,t)):pl(n,t)}});function pl(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function hl(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Ie(n,o,me()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var hf=_("$ZodCatch",(t,e)=>{Z.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>hl(r,s,e,o)):hl(r,n,e,o)}});var mf=_("$ZodPipe",(t,e)=>{Z.init(t,e),C(t,"values",r=>r.def.in._zod.values),C(t,"optin",r=>r.def.in._zod.optin),C(t,"optout",r=>r.def.out._zod.optout),C(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Yo(i,e.in,o)):Yo(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Yo(s,e.out,o)):Yo(n,e.out,o)}});function Yo(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var gf=_("$ZodReadonly",(t,e)=>{Z.init(t,e),C(t,"propValues",r=>r.def.innerType._zod.propValues),C(t,"values",r=>r.def.innerType._zod.values),C(t,"optin",r=>r.def.innerType?._zod?.optin),C(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(ml):ml(n)}});function ml(t){return t.memo||(t.value=Object.freeze(t.value)),t}var wf=_("$ZodCustom",(t,e)=>{ie.init(t,e),Z.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>gl(s,r,o,t));gl(n,r,o,t)}});function gl(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Qt(n))}}var bi=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},vi="~memo",_f=[];function xf(t){return t!==null&&typeof t=="object"}function yi(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var yf=new WeakMap,Nr=0,on=1,Lr=2;function nn(t,e,r){let o=yf.get(t);if(o!==void 0)return o?Lr:Nr;if(e.has(t))return Lr;e.add(t);let n=Nr,s=l=>{if(n!==Lr&&l?._zod){let f=nn(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Nr;for(let p of Reflect.ownKeys(l)){let h=Object.getOwnPropertyDescriptor(l,p);if(f&&!h.enumerable)continue;let g=h.get?on:h.value?._zod?nn(h.value,e,r):Nr;g>d&&(d=g)}return d},a=l=>{l>n&&(n=l)},c=t._zod.def,u=c.type;switch(u){case"object":{let l=zr(c);a(l?i(l,!0):on),s(c.catchall);break}case"array":s(c.element);break;case"tuple":for(let l of c.items)s(l);s(c.rest);break;case"record":case"map":s(c.keyType),s(c.valueType);break;case"set":s(c.valueType);break;case"union":for(let l of c.options)s(l);break;case"intersection":s(c.left),s(c.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(c.innerType);break;case"pipe":s(c.in),s(c.out);break;case"function":s(c.input),s(c.output);break;case"lazy":{let l=c._cachedInner??(r?t._zod.innerType:void 0);a(l?nn(l,e,!1):on);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in c){let f=Object.getOwnPropertyDescriptor(c,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),Kx(t,n)}function Kx(t,e){return e!==on&&yf.set(t,e===Lr),e}function Gx(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var tn,rn=[],Vx={alloc(t,e,r){let o=tn;if(!o)return r;tn=void 0;let n={value:r,issues:null};return o.set(e.value,n),rn.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&Wx(s,n.value))throw new bi;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(c,u)=>{if(r===void 0){let w=nn(t,new Set,!1);if(w===Nr)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(c,u);w===Lr||o?r=!0:o=!0}let l=c.value;if(!xf(l))return i(c,u);let f=u[vi];f||(f={buckets:new WeakMap,backEdges:void 0},u[vi]=f);let d;n===u?d=s:(d=Gx(f,t),n=u,s=d);let p=d.get(l);if(p)return c.value=p.value,p.issues?p.issues.length&&c.issues.push(...yi(p.issues)):(c.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),c;tn=d;let h=rn.length,g=i(c,u);tn=void 0;let m=rn.length>h?rn.pop():void 0;return g instanceof Promise?g.then(w=>(m&&(m.issues=w.issues.length?yi(w.issues):_f),w)):(m&&(m.issues=g.issues.length?yi(g.issues):_f),g)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Si(){return Vx}function Wx(t,e){let r=t[vi]?.backEdges;return r!==void 0&&xf(e)&&r.has(e)}var Yx=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=ei(s.input),c=n(a,s.input);return`Invalid input: expected ${i}, received ${c}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${Do(s.values[0])}`:`Invalid option: expected one of ${Lo(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${Lo(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function bf(){return{localeError:Yx()}}var vf;var ki=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function Sf(){return new ki}(vf=globalThis).__zod_globalRegistry??(vf.__zod_globalRegistry=Sf());var Ne=globalThis.__zod_globalRegistry;function sn(t){return t.checks&&(t.checks=[...t.checks]),t}function kf(t,e){return new t(sn({type:"string",...E(e)}))}function Ef(t,e){return new t(sn({type:"string",coerce:!0,...E(e)}))}function Af(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...E(e)})}function Tf(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...E(e)})}function zf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...E(e)})}function $f(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...E(e)})}function Of(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...E(e)})}function Mf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...E(e)})}function Pf(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...E(e)})}function If(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...E(e)})}function Rf(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...E(e)})}function Nf(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...E(e)})}function Lf(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...E(e)})}function Cf(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...E(e)})}function Df(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...E(e)})}function Bf(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...E(e)})}function Uf(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...E(e)})}function Zf(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...E(e)})}function qf(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...E(e)})}function jf(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...E(e)})}function Ff(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...E(e)})}function Hf(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...E(e)})}function Kf(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...E(e)})}function Gf(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...E(e)})}function Vf(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...E(e)})}function Wf(t,e){return new t({type:"string",format:"date",check:"string_format",...E(e)})}function Yf(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...E(e)})}function Jf(t,e){return new t({type:"string",format:"duration",check:"string_format",...E(e)})}function Xf(t,e){return new t(sn({type:"number",checks:[],...E(e)}))}function Qf(t,e){return new t(sn({type:"number",coerce:!0,checks:[],...E(e)}))}function ed(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...E(e)})}function td(t,e){return new t({type:"boolean",...E(e)})}function rd(t,e){return new t({type:"boolean",coerce:!0,...E(e)})}function od(t,e){return new t({type:"bigint",coerce:!0,...E(e)})}function nd(t){return new t({type:"unknown"})}function sd(t,e){return new t({type:"never",...E(e)})}function id(t,e){return new t({type:"date",coerce:!0,...E(e)})}function rr(t,e){return new pi({check:"less_than",...E(e),value:t,inclusive:!1})}function ot(t,e){return new pi({check:"less_than",...E(e),value:t,inclusive:!0})}function or(t,e){return new hi({check:"greater_than",...E(e),value:t,inclusive:!1})}function nt(t,e){return new hi({check:"greater_than",...E(e),value:t,inclusive:!0})}function Cr(t,e){return new Fu({check:"multiple_of",...E(e),value:t})}function an(t,e){return new Ku({check:"max_length",...E(e),maximum:t})}function nr(t,e){return new Gu({check:"min_length",...E(e),minimum:t})}function cn(t,e){return new Vu({check:"length_equals",...E(e),length:t})}function Ei(t,e){return new Wu({check:"string_format",format:"regex",...E(e),pattern:t})}function Ai(t){return new Yu({check:"string_format",format:"lowercase",...E(t)})}function Ti(t){return new Ju({check:"string_format",format:"uppercase",...E(t)})}function zi(t,e){return new Xu({check:"string_format",format:"includes",...E(e),includes:t})}function $i(t,e){return new Qu({check:"string_format",format:"starts_with",...E(e),prefix:t})}function Oi(t,e){return new el({check:"string_format",format:"ends_with",...E(e),suffix:t})}function ht(t){return new tl({check:"overwrite",tx:t})}function Mi(t){return ht(e=>e.normalize(t))}function Pi(){return ht(t=>t.trim())}function Ii(){return ht(t=>t.toLowerCase())}function Ri(){return ht(t=>t.toUpperCase())}function Ni(){return ht(t=>Ws(t))}function ad(t,e,r){return new t({type:"array",element:e,...E(r)})}function cd(t,e,r){return new t({type:"custom",check:"custom",fn:e,...E(r)})}function ud(t,e){let r=Jx(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Qt(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Qt(s))}},t(o.value,o)),e);return r}function Jx(t,e){let r=new ie({check:"custom",...E(e)});return r._zod.check=t,r}function Dr(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&Se(t,o,r[o]);return t}function Ci(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??Ne,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Le(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function Y(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),Y(f,e,l),e.seen.get(f).isParent=!0)}let c=e.metadataRegistry.get(t);return c&&Dr(i.schema,c),e.io==="input"&&he(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function ld(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function Di(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let c=o.get(a);if(c&&c!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(h=>h);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${ld(p)}`}}let c="#",u=`${c}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:c};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:u+ld(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:c,defId:u}=n(i);a.def={...a.schema},u&&(a.defId=u);let l=a.schema;for(let f in l)delete l[f];l.$ref=c};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let u=t.external.registry.get(i[0])?.id;if(e!==i[0]&&u){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function pd(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;pd(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var hd=new Set(["type","properties","required","additionalProperties"]),fd=["oneOf","anyOf"];function dd(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function Li(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!hd.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let u of e){let l=u.properties?.[i]??dd(u);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let c=a.length===1?a[0]:Li(a)??{allOf:a};Se(r,i,c)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=dd(i);a&&!s.some(c=>JSON.stringify(c)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function Xx(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of hd)if(n in t)return;let r=e.filter(n=>fd.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=Li(e);else{let n=r[0],s=fd.find(c=>Array.isArray(n[c]));if(Object.keys(n).length!==1)return;let i=e.filter(c=>c!==n),a=n[s].map(c=>Li([...i,c]));if(a.some(c=>!c))return;o={[s]:a}}o&&(delete t.allOf,Dr(t,o))}function Bi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let c=t.seen.get(a);if(c.ref===null)return;let u=c.def??c.schema,l={...u},f=c.ref;if(c.ref=null,f){o(f);let p=t.seen.get(f),h=p.schema;if(h.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(u.allOf=u.allOf??[],u.allOf.push(h)):Dr(u,h),Dr(u,l),a._zod.parent===f)for(let m in u)m==="$ref"||m==="allOf"||m in l||delete u[m];if(h.$ref&&p.def)for(let m in u)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(u[m])===JSON.stringify(p.def[m])&&delete u[m]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(u.$ref=p.schema.$ref,p.def))for(let h in u)h==="$ref"||h==="allOf"||h in p.def&&JSON.stringify(u[h])===JSON.stringify(p.def[h])&&delete u[h]}t.override({zodSchema:a,jsonSchema:u,path:c.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())pd(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let c of t.seen.values())for(let u of[c.schema,c.def]){let l=u?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(u):a.set(l,[u])}for(let c of t.intersections)for(let u of a.get(c)??[])Xx(u)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Dr(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let c=a[1];c.def&&c.defId&&(c.def.id===c.defId&&delete c.def.id,Se(i,c.defId,c.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Br(e,"input",t.processors),output:Br(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function he(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return he(o.element,r);if(o.type==="set")return he(o.valueType,r);if(o.type==="lazy")return he(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return he(o.innerType,r);if(o.type==="intersection")return he(o.left,r)||he(o.right,r);if(o.type==="record"||o.type==="map")return he(o.keyType,r)||he(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:he(o.in,r)||he(o.out,r);if(o.type==="object"){for(let n in o.shape)if(he(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(he(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(he(n,r))return!0;return!!(o.rest&&he(o.rest,r))}return!1}var md=(t,e={})=>r=>{let o=Ci({...r,processors:e});return Y(t,o),Di(o,t),Bi(o,t)},Br=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=Ci({...n??{},target:s,io:e,processors:r});return Y(t,i),Di(i,t),Bi(i,t)};var sr=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},ir=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},gd=(t,e)=>{sr(t,"minimum",e),ir(t,"maximum",e)},yd=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},bd=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},vd=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Sd=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},wd=(t,e)=>sr(t,"minimum",e.minimum),_d=(t,e)=>ir(t,"maximum",e.maximum),xd=t=>(e,r)=>{Sd(e,r.format);let[o,n]=t[r.format];sr(e,"minimum",o),ir(e,"maximum",n)},Qx={greater_than:(t,e)=>sr(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>ir(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>yd(t,e.value),number_format:xd($r),bigint_format:xd(Bo),min_length:wd,max_length:_d,length_equals:(t,e)=>gd(t,e.length),min_size:wd,max_size:_d,size_equals:(t,e)=>gd(t,e.size),string_format:(t,e)=>{Sd(t,e.format),e.pattern&&bd(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>vd(t,e.mime)};function oe(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)Qx[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&sr(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&sr(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&ir(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&ir(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&yd(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&vd(e,n.mime);for(let s of n.patterns??[])bd(e,s);return e}var ey={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},ty=new Map([[wi,Mu],[en,Pu]]),kd=t=>ty.get(t)??t,Ed=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:c,contentEncoding:u,laxFormat:l}=oe(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=ey[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),u&&(n.contentEncoding=u),c&&c.size>0){let f=[...c].map(kd);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Ad=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:c,exclusiveMinimum:u,isInt:l}=oe(t);n.type=l?"integer":"number";let f=typeof u=="number"&&u>=(s??Number.NEGATIVE_INFINITY),d=typeof c=="number"&&c<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=u,n.exclusiveMinimum=!0):n.exclusiveMinimum=u:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=c,n.exclusiveMaximum=!0):n.exclusiveMaximum=c:typeof i=="number"&&(n.maximum=i),a){let h=new Set;for(let w of a)Number.isFinite(w)&&w!==0?h.add(Math.abs(w)):Le(t,e,n,o,`A multipleOf divisor of ${w} cannot be represented in JSON Schema`);let[g,...m]=h;g!==void 0&&(n.multipleOf=g),m.length&&(n.allOf=[...n.allOf??[],...m.map(w=>({multipleOf:w}))])}},Td=(t,e,r,o)=>{r.type="boolean"},zd=(t,e,r,o)=>{Le(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var $d=(t,e,r,o)=>{r.not={}};var Od=(t,e,r,o)=>{},Md=(t,e,r,o)=>{Le(t,e,r,o,"Date cannot be represented in JSON Schema")},Pd=(t,e,r,o)=>{let n=t._zod.def,s=Jt(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},Id=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Le(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Le(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var Rd=(t,e,r,o)=>{Le(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var Nd=(t,e,r,o)=>{Le(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var Ld=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=oe(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=Y(s.element,e,{...o,path:[...o.path,"items"]})};function Ur(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Ur(e.out):e.type==="catch"?Ur(e.innerType):t._zod.optin}var Cd=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Le(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let u in i)Se(n.properties,u,Y(i[u],e,{...o,path:[...o.path,"properties",u]}));let c=[];for(let u of Object.keys(i)){let l=s.shape[u];(e.io==="input"?Ur(l)===void 0:l._zod.optout===void 0)&&c.push(u)}c.length>0&&(n.required=c),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=Y(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},Dd=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,c)=>Y(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",c]}));s?r.oneOf=i:r.anyOf=i},Bd=(t,e,r,o)=>{let n=t._zod.def,s=Y(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=Y(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=u=>"allOf"in u&&Object.keys(u).length===1,c=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=c,e.intersections.push(c)},Ud=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",c=s.items.map((g,m)=>Y(g,e,{...o,path:[...o.path,i,m]})),u=s.rest?Y(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let g=s.items[l-1];if(!(e.io==="input"?Ur(g)!==void 0:g._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=c,d?n.items=!1:u&&(n.items=u),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:c},u&&n.items.anyOf.push(u),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=c,d?n.additionalItems=!1:u&&(n.additionalItems=u),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:h}=oe(t);typeof p=="number"&&(n.minItems=p),typeof h=="number"&&(n.maxItems=h)};function Ui(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let h=t.get(e)?.def;if(!h)return e;let g=Ui(t,h,r);return g===h?e:g}for(let h of["anyOf","oneOf"]){let g=e[h];if(!Array.isArray(g))continue;let m=g.map(w=>Ui(t,w,r));m.some((w,x)=>w!==g[x])&&(e={...e,[h]:m})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(h=>h==="number"||h==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(h=>typeof h=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:c,exclusiveMaximum:u,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(h=>typeof h=="number"?String(h):h):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?Ir:fi).source)),p}var Zi=new WeakMap;function ry(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of Zi.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=Ui(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var Zd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=oe(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=Y(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)Se(n.patternProperties,kd(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=Y(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=Zi.get(e);l||(l=[],Zi.set(e,l),e.deferred.push(()=>ry(e))),l.push(t)}n.additionalProperties=Y(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let c=i._zod.values,u=e.io==="input"&&Ur(s.valueType)!==void 0;if(c&&!s.partial&&!u){let l=[...c].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},qd=(t,e,r,o)=>{let n=t._zod.def,s=Y(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},jd=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},qi=Symbol();function Fd(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,c)=>typeof c!="bigint"?c:(s=!0,null));return s?(Le(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),qi):JSON.parse(i)}var Hd=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=Fd(n.defaultValue,t,e,r,o);i!==qi&&(r.default=i)},Kd=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=Fd(n.defaultValue,t,e,r,o);i!==qi&&(r._prefault=i)},Gd=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Le(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},Vd=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;Y(i,e,o);let a=e.seen.get(t);a.ref=i},Wd=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var ji=(t,e,r,o)=>{let n=t._zod.def;Y(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var Yd=new WeakSet([Object.prototype,Error.prototype]);function un(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var Jd=(t,e)=>{iu.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);Yd.has(r)||(Yd.add(r),un(r,"format",o=>n=>ii(o,n)),un(r,"flatten",o=>n=>si(o,n)),un(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Xt,2)}),un(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Xt,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},ln=_("ZodError",Jd),ye=_("ZodError",Jd,void 0,{Parent:Error});var Xd=Fo(ye),Qd=Ho(ye),ep=Ko(ye),tp=Go(ye),rp=cu(ye),op=uu(ye),np=lu(ye),sp=fu(ye),ip=du(ye),ap=pu(ye),cp=hu(ye),up=mu(ye);function dy(){pe.localeError||me(bf())}function jr(){pe.memoizer||me({memoizer:Si()})}var F=_("ZodType",(t,e)=>(dy(),Z.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(A.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return ke(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(Qy(t,e))},superRefine(t,e){return this.check(eb(t,e))},overwrite(t){return this.check(ht(t))},optional(){return dn(this)},exactOptional(){return jy(this)},nullable(){return pn(this)},nullish(){return dn(pn(this))},nonoptional(t){return Ky(this,t)},array(){return q(this)},or(t){return Wi([this,t])},and(t){return By(this,t)},transform(t){return fp(this,qy(t))},default(t){return Fy(this,t)},prefault(t){return Hy(this,t)},catch(t){return Vy(this,t)},pipe(t){return fp(this,t)},readonly(){return Jy(this)},describe(t){let e=this.clone();return Ne.add(e,{description:t}),e},meta(...t){if(t.length===0)return Ne.get(this);let e=this.clone();return Ne.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return A.hide(this,"~standard",{...gi(this),jsonSchema:{input:Br(this,"input"),output:Br(this,"output")}})},set"~standard"(t){A.own(this,"~standard",t)},parse:function t(e,r){return Xd(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await Qd(this,e,r,{callee:t})},safeParse(t,e){return ep(this,t,e)},async safeParseAsync(t,e){return tp(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){A.own(this,"spa",t)},validate(t,e){return ai(this,t,e)},validateAsync(t,e){return ci(this,t,e)},encode:function t(e,r){return rp(this,e,r,{callee:t})},decode:function t(e,r){return op(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await np(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await sp(this,e,r,{callee:t})},safeEncode(t,e){return ip(this,t,e)},safeDecode(t,e){return ap(this,t,e)},async safeEncodeAsync(t,e){return cp(this,t,e)},async safeDecodeAsync(t,e){return up(this,t,e)},toJSONSchema(t){return md(this,{})(t)},get description(){return Ne.get(this)?.description},get _def(){return this._zod.def}}),dp=_("_ZodString",(t,e)=>{Qo.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ed(t,r,o,n)},A.derived({format:t=>oe(t).format??null,minLength:t=>oe(t).minimum??null,maxLength:t=>oe(t).maximum??null},{regex(...t){return this.check(Ei(...t))},includes(...t){return this.check(zi(...t))},startsWith(...t){return this.check($i(...t))},endsWith(...t){return this.check(Oi(...t))},min(...t){return this.check(nr(...t))},max(...t){return this.check(an(...t))},length(...t){return this.check(cn(...t))},nonempty(...t){return this.check(nr(1,...t))},lowercase(t){return this.check(Ai(t))},uppercase(t){return this.check(Ti(t))},trim(){return this.check(Pi())},normalize(...t){return this.check(Mi(...t))},toLowerCase(){return this.check(Ii())},toUpperCase(){return this.check(Ri())},slugify(){return this.check(Ni())}})),Hi=_("ZodString",(t,e)=>{Qo.init(t,e),dp.init(t,e)},{email(t){return this.check(Af(wy,t))},url(t){return this.check(Pf(xy,t))},jwt(t){return this.check(Gf(Ry,t))},emoji(t){return this.check(If(yy,t))},guid(t){return this.check(Tf(_y,t))},uuid(t){return this.check(zf(fn,t))},uuidv4(t){return this.check($f(fn,t))},uuidv6(t){return this.check(Of(fn,t))},uuidv7(t){return this.check(Mf(fn,t))},nanoid(t){return this.check(Rf(by,t))},cuid(t){return this.check(Nf(vy,t))},cuid2(t){return this.check(Lf(Sy,t))},ulid(t){return this.check(Cf(ky,t))},base64(t){return this.check(Ff(My,t))},base64url(t){return this.check(Hf(Py,t))},xid(t){return this.check(Df(Ey,t))},ksuid(t){return this.check(Bf(Ay,t))},ipv4(t){return this.check(Uf(Ty,t))},ipv6(t){return this.check(Zf(zy,t))},cidrv4(t){return this.check(qf($y,t))},cidrv6(t){return this.check(jf(Oy,t))},e164(t){return this.check(Kf(Iy,t))},datetime(t){return this.check(Vf(py,t))},date(t){return this.check(Wf(hy,t))},time(t){return this.check(Yf(my,t))},duration(t){return this.check(Jf(gy,t))}});function z(t){return kf(Hi,t)}var J=_("ZodStringFormat",(t,e)=>{H.init(t,e),dp.init(t,e)}),py=_("ZodISODateTime",(t,e)=>{Ml.init(t,e),J.init(t,e)}),hy=_("ZodISODate",(t,e)=>{Pl.init(t,e),J.init(t,e)}),my=_("ZodISOTime",(t,e)=>{Il.init(t,e),J.init(t,e)}),gy=_("ZodISODuration",(t,e)=>{Rl.init(t,e),J.init(t,e)}),wy=_("ZodEmail",(t,e)=>{yl.init(t,e),J.init(t,e)});var _y=_("ZodGUID",(t,e)=>{_l.init(t,e),J.init(t,e)});var fn=_("ZodUUID",(t,e)=>{xl.init(t,e),J.init(t,e)});var xy=_("ZodURL",(t,e)=>{Sl.init(t,e),J.init(t,e)});var yy=_("ZodEmoji",(t,e)=>{kl.init(t,e),J.init(t,e)});var by=_("ZodNanoID",(t,e)=>{El.init(t,e),J.init(t,e)});var vy=_("ZodCUID",(t,e)=>{Al.init(t,e),J.init(t,e)});var Sy=_("ZodCUID2",(t,e)=>{Tl.init(t,e),J.init(t,e)});var ky=_("ZodULID",(t,e)=>{zl.init(t,e),J.init(t,e)});var Ey=_("ZodXID",(t,e)=>{$l.init(t,e),J.init(t,e)});var Ay=_("ZodKSUID",(t,e)=>{Ol.init(t,e),J.init(t,e)});var Ty=_("ZodIPv4",(t,e)=>{Nl.init(t,e),J.init(t,e)});var zy=_("ZodIPv6",(t,e)=>{Cl.init(t,e),J.init(t,e)});var $y=_("ZodCIDRv4",(t,e)=>{Dl.init(t,e),J.init(t,e)});var Oy=_("ZodCIDRv6",(t,e)=>{Bl.init(t,e),J.init(t,e)});var My=_("ZodBase64",(t,e)=>{Zl.init(t,e),J.init(t,e)});var Py=_("ZodBase64URL",(t,e)=>{ql.init(t,e),J.init(t,e)});var Iy=_("ZodE164",(t,e)=>{jl.init(t,e),J.init(t,e)});var Ry=_("ZodJWT",(t,e)=>{Fl.init(t,e),J.init(t,e)});var hn=_("ZodNumber",(t,e)=>{_i.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ad(t,r,o,n),t.isFinite=!0},A.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=oe(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=oe(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=oe(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>oe(t).format??null},{gt(t,e){return this.check(or(t,e))},gte(t,e){return this.check(nt(t,e))},min(t,e){return this.check(nt(t,e))},lt(t,e){return this.check(rr(t,e))},lte(t,e){return this.check(ot(t,e))},max(t,e){return this.check(ot(t,e))},int(t){return this.check(O(t))},safe(t){return this.check(O(t))},positive(t){return this.check(or(0,t))},nonnegative(t){return this.check(nt(0,t))},negative(t){return this.check(rr(0,t))},nonpositive(t){return this.check(ot(0,t))},multipleOf(t,e){return this.check(Cr(t,e))},step(t,e){return this.check(Cr(t,e))},finite(){return this}}));function v(t){return Xf(hn,t)}var Ny=_("ZodNumberFormat",(t,e)=>{Hl.init(t,e),hn.init(t,e)});function O(t){return ed(Ny,t)}var Ki=_("ZodBoolean",(t,e)=>{Kl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Td(t,r,o,n)});function mt(t){return td(Ki,t)}var pp=_("ZodBigInt",(t,e)=>{Gl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>zd(t,r,o,n)},A.derived({minValue:t=>oe(t).minimum??null,maxValue:t=>oe(t).maximum??null,format:t=>oe(t).format??null},{gte(t,e){return this.check(nt(t,e))},min(t,e){return this.check(nt(t,e))},gt(t,e){return this.check(or(t,e))},lt(t,e){return this.check(rr(t,e))},lte(t,e){return this.check(ot(t,e))},max(t,e){return this.check(ot(t,e))},positive(t){return this.check(or(BigInt(0),t))},negative(t){return this.check(rr(BigInt(0),t))},nonpositive(t){return this.check(ot(BigInt(0),t))},nonnegative(t){return this.check(nt(BigInt(0),t))},multipleOf(t,e){return this.check(Cr(t,e))}}));var Ly=_("ZodUnknown",(t,e)=>{Vl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Od(t,r,o,n)});function qr(){return nd(Ly)}var Cy=_("ZodNever",(t,e)=>{Wl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>$d(t,r,o,n)});function hp(t){return sd(Cy,t)}var mp=_("ZodDate",(t,e)=>{Yl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Md(t,r,o,n),t.min=(r,o)=>t.check(nt(r,o)),t.max=(r,o)=>t.check(ot(r,o))},A.derived({minDate:t=>{let{minimum:e}=oe(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=oe(t);return e?new Date(e):null}},{}));var Gi=_("ZodArray",(t,e)=>{jr(),Jl.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ld(t,r,o,n),t.element=e.element},{min(t,e){return this.check(nr(t,e))},nonempty(t){return this.check(nr(1,t))},max(t,e){return this.check(an(t,e))},length(t,e){return this.check(cn(t,e))},unwrap(){return this.element}});function q(t,e){return ad(Gi,t,e)}var gt=_("ZodObject",(t,e)=>{jr(),ef.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Cd(t,r,o,n),A.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return je(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(A.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(A.mergeDefs(this._zod.def,{catchall:qr()}))},loose(){return this.clone(A.mergeDefs(this._zod.def,{catchall:qr()}))},strict(){return this.clone(A.mergeDefs(this._zod.def,{catchall:hp()}))},strip(){return this.clone(A.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return A.extend(this,t)},safeExtend(t){return A.safeExtend(this,t)},merge(t){return A.merge(this,t)},pick(t){return A.pick(this,t)},omit(t){return A.omit(this,t)},partial(...t){return A.partial(Tt,this,t[0])},exactPartial(...t){return A.partial(_p,this,t[0],"exactPartial")},required(...t){return A.required(xp,this,t[0])}});function P(t,e){let r={type:"object",shape:t??{},...A.normalizeParams(e)};return new gt(r)}function wt(t,e){return new gt({type:"object",shape:t,catchall:hp(),...A.normalizeParams(e)})}function gp(t,e){return new gt({type:"object",shape:t,catchall:qr(),...A.normalizeParams(e)})}var Vi=_("ZodUnion",(t,e)=>{tf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Dd(t,r,o,n),t.options=e.options});function Wi(t,e){return new Vi({type:"union",options:t,...A.normalizeParams(e)})}var Dy=_("ZodIntersection",(t,e)=>{rf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Bd(t,r,o,n)});function By(t,e){return new Dy({type:"intersection",left:t,right:e})}var Uy=_("ZodTuple",(t,e)=>{jr(),of.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ud(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Tt({type:"optional",innerType:e}))})}});function Fr(t,e,r){let o=e instanceof Z,n=o?r:e,s=o?e:null;return new Uy({type:"tuple",items:t,rest:s,...A.normalizeParams(n)})}var lp=_("ZodRecord",(t,e)=>{jr(),nf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Zd(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function _t(t,e,r){return!e||!e._zod?new lp({type:"record",keyType:z(),valueType:t,...A.normalizeParams(e)}):new lp({type:"record",keyType:t,valueType:e,...A.normalizeParams(r)})}var Fi=_("ZodEnum",(t,e)=>{sf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(o,n,s)=>Pd(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new Fi({...e,checks:[],...A.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new Fi({...e,checks:[],...A.normalizeParams(n),entries:s})}});function je(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new Fi({type:"enum",entries:r,...A.normalizeParams(e)})}var Yi=_("ZodLiteral",(t,e)=>{af.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Id(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function wp(t,e){return new Yi({type:"literal",values:Array.isArray(t)?t:[t],...A.normalizeParams(e)})}var Zy=_("ZodTransform",(t,e)=>{jr(),cf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Nd(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new er(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(A.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(A.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function qy(t){return new Zy({type:"transform",transform:t})}var Tt=_("ZodOptional",(t,e)=>{xi.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ji(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function dn(t){return new Tt({type:"optional",innerType:t})}var _p=_("ZodExactOptional",(t,e)=>{uf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ji(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function jy(t){return new _p({type:"optional",innerType:t})}var Hr=_("ZodNullable",(t,e)=>{lf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>qd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function pn(t){return new Hr({type:"nullable",innerType:t})}var Ji=_("ZodDefault",(t,e)=>{ff.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Hd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function Fy(t,e){return new Ji({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var Xi=_("ZodPrefault",(t,e)=>{df.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Kd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Hy(t,e){return new Xi({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var xp=_("ZodNonOptional",(t,e)=>{pf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>jd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Ky(t,e){return new xp({type:"nonoptional",innerType:t,...A.normalizeParams(e)})}var Gy=_("ZodCatch",(t,e)=>{hf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Gd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function Vy(t,e){return new Gy({type:"catch",innerType:t,catchValue:typeof e=="function"?e:A.constantCatch(e)})}var Wy=_("ZodPipe",(t,e)=>{mf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Vd(t,r,o,n),t.in=e.in,t.out=e.out});function fp(t,e){return new Wy({type:"pipe",in:t,out:e})}var Yy=_("ZodReadonly",(t,e)=>{gf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Wd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Jy(t){return new Yy({type:"readonly",innerType:t})}var Xy=_("ZodCustom",(t,e)=>{wf.init(t,e),F.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Rd(t,r,o,n)});function Qy(t,e={}){return cd(Xy,t,e)}function eb(t,e){return ud(t,e)}var Kr={};Us(Kr,{bigint:()=>sb,boolean:()=>nb,date:()=>ib,number:()=>ob,string:()=>rb});function rb(t){return Ef(Hi,t)}function ob(t){return Qf(hn,t)}function nb(t){return rd(Ki,t)}function sb(t){return od(pp,t)}function ib(t){return id(mp,t)}function ab(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function yp(t,e){let o=e.map(n=>({name:n,distance:ab(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function Sp(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let c=n.keys[0],u=yp(c,Qi(t,s,e));throw new Me(bp(r,[...s,c]),`the key is unknown${u}`)}let i=ea(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Me(bp(r,s),`found ${a}, ${cb(n)}`)}function cb(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`expected ${ub(t.expected==="int"?"integer":t.expected)}`;case"too_small":return`expected ${t.inclusive?"at least":"more than"} ${t.minimum}`;case"too_big":return`expected ${t.inclusive?"at most":"less than"} ${t.maximum}`;case"invalid_value":return`expected ${t.values.map(String).join(" or ")}`;default:return t.message}}function ub(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function bp(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function ea(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Qi(t,e,r){let o=vp(t);if(o instanceof Vi){let a=o.options.map(u=>vp(u)),c=a.filter(u=>lb(u,r));return(c.length>0?c:a).flatMap(u=>Qi(u,e,r))}if(!(o instanceof gt))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Qi(n[s],i,ea(r,[s])):[]}function lb(t,e){return t instanceof gt?Object.entries(t.shape).every(([r,o])=>!(o instanceof Yi)||o.safeParse(ea(e,[r])).success):!1}function vp(t){let e=t;for(;e instanceof Ji||e instanceof Xi||e instanceof Tt||e instanceof Hr;)e=e.unwrap();return e}var kp=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var fb=37;function Ep(t){return fb+t.source.length+t.destination.length}function ar({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var De=class extends y{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},Gr=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new De(this.at,`found ${o}, expected ${e}`)}};var Tp=3528531795,zp=3449720151,db=2654435769,pb=3144134277,hb=10,mn=2**32;var Be=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#a=0;#i=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, expected an integer in 0..2^53-1`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], expected up to three u32`);let[n,s]=mb(r);$p(this.#s,n,s,0,0,e>>>0,Math.floor(e/mn)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#a=0,this.#i=4}uint32(){return this.#i===4&&this.#c(),this.#s[this.#i++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===mn)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: expected 1..2^32`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(mn-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return ta(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#c(){b(this.#a<mn,"a random stream gave all of its 2^34 numbers"),$p(this.#s,this.#a++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#i=0}};function $p(t,e,r,o,n,s,i){let a=e|0,c=r|0,u=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<hb;p++){let h=ta(a,Tp),g=Math.imul(a,Tp),m=ta(u,zp),w=Math.imul(u,zp);a=m^c^f,c=w,u=h^l^d,l=g,f=f+db|0,d=d+pb|0}t[0]=a,t[1]=c,t[2]=u,t[3]=l}function ta(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var Op=new Map;function mb(t){let e=Op.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return Op.set(t,o),o}function re(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}var Lp=["float64","fixed","log","clipped"],Mp=8,Wr=1e3,Yr=2**32,gn=4294967295,ra=Number.MAX_SAFE_INTEGER,aa=.001,xb=1e6,Cp=65535,oa=65535,ca=Math.log(xb/aa)/Cp,i4=Math.expm1(ca/2),yb={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&bn(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},Dp={name:"fixed",maxRttMs:ra/Wr,encode(t,e){t!==null&&bn(t,Dp.maxRttMs),Bp(t===null?null:Math.min(Math.round(t*Wr),ra),e)},decode(t){return Up(t,ra)}},bb={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?oa:Sb(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>oa))return e===oa?null:aa*Math.exp((e+.5)*ca)}};function vb(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: expected an integer in 1..2^53-1`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&bn(e,Number.MAX_VALUE),Bp(e===null?null:Math.min(Math.round(e*Wr),t),r)},decode(e){return Up(e,t)}}}function yn({name:t,clipMs:e}){return t==="clipped"?vb(Math.max(1,Math.round(e*Wr))):{float64:yb,fixed:Dp,log:bb}[t]}function bn(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a number in 0..${e}`)}function Sb(t){bn(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/aa)/ca);return Math.max(0,Math.min(e,Cp-1))}function Bp(t,e){e.setUint32(0,t===null?gn:Math.floor(t/Yr)),e.setUint32(4,t===null?gn:t%Yr)}function Up(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===gn&&o===gn)return null;let n=r*Yr+o;return n<=e?n/Wr:void 0}var a4={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var cr=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(Mp))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},c=r.map(u=>u==="result"?"rtt":u);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?c.filter(u=>u!=="time"):c,ar(e))}write(e,r,o=Ep(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found space for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&b(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,Mp);case"size":return na("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return na("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){na(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/Yr);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*Yr),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function na(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: expected an integer in ${r}..${o}`)}var kb=new Uint16Array(9);function vn(t,e,r){if(e===0)return;let o=kb,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),c=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),u=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:u*12+a,age:c}}var Sn=2;function Zp({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function qp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var En={};Us(En,{BYTE_BASE:()=>M,DST_IPV4:()=>ge,DST_IPV6:()=>Ue,FAILED:()=>ce,FIELD_ORDERS:()=>Jr,MEASUREMENT_START:()=>ae,QUERY_ORDER:()=>it,ROLE_NAMES:()=>kn,RTT_START:()=>N,SRC_IPV4:()=>Ee,SRC_IPV6:()=>st,THROUGHPUT_START:()=>Eb,TIMESTAMP_ABS:()=>ue,TIMESTAMP_DELTA1:()=>Fe,TIMESTAMP_DELTA4:()=>Ae,VOCAB_SIZE:()=>He,measurementLength:()=>Ke,timeLength:()=>Xr,tokenName:()=>ua,untimedLength:()=>jp});var ae=0,Ee=1,st=2,ge=3,Ue=4,ue=5,Fe=6,Ae=7,N=8,Eb=9,ce=10,M=11,He=267,kn=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],Jr=Fp(["source","destination","result","time"]),it=["source","destination","time","result"];function ua(t){return t>=11&&t<267?`byte ${t-11}`:kn[t]??`unknown token ${t}`}function Ke(t,e){return jp(t.source.length,t.destination.length,t.rttCode===null)+Xr(t.timeS,e)}function jp(t,e,r){return 3+t+e+(r?1:3)}function Xr(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function Fp(t){return t.length<=1?[[...t]]:t.flatMap(e=>Fp(t.filter(r=>r!==e)).map(r=>[e,...r]))}function Ze(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a finite number of 0 or more`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function An(t){let{exponent:e,mantissa:r}=Hp(t);return e>0?(r+.5)*2**e/1e3:la(r)}function Tn(t){let{exponent:e,mantissa:r}=Hp(t),o=e===31&&r===2047;return{lowMs:t===1?0:la(r*2**e),highMs:o?1/0:la((r+1)*2**e)}}function Qr(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var le=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(Qr));function la(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function Hp(t){if(!Qr(t))throw new RangeError(`Cannot decode RTT code ${t}: expected a canonical code`);return{exponent:t>>11,mantissa:t&2047}}function Kp(t){let e=new fa(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var fa=class extends Gr{#e=null;constructor(e){super(e,En)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=Ab(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!Qr(r))throw new De(e,`found RTT code ${r}, expected a canonical code`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new De(e,`found ${ua(r)}, expected ${i}`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new De(e,`found a gap of ${n} s in 4 bytes, expected 1 byte`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new De(e,`found a time of ${s} s, expected at most 2^53-1 s`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function Ab(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var Ge=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=Ke(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found space for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&b(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!Qr(e))throw new RangeError(`Cannot write RTT code ${e}: expected a canonical code`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: expected whole seconds in 0..2^53-1`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: expected at most 2^32-1 s`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var xt=11,da=2**20;function Gp(t,e){let r=t.slice(-9).reverse();return vn(r.map(({rttCode:o})=>o),r.length,Vp(e,r[0]?.timeS??null))}function Vp(t,e){return t===null||e===null?null:Math.abs(t-e)}var zn=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}rttHistory(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(u=>u.timeS===null||u.timeS>s),a=[...i.map(({rttCode:u})=>u).reverse(),...n.filter(u=>u>0)],c=i.at(-1)?.timeS??(s>0?s:null);return vn(a,a.length,Vp(r,c))}save(){let e=this.#t.length,r=new Float32Array(e*xt);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/da),s%da],o*xt)}return r}load(e){let r=this.#t.length;b(e.length===r*xt,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*xt,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*da+e[n+9+1]}}},Tb={[5]:8,[6]:1,[7]:4,[8]:2},$n=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#a=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#a=this.#a=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=Tb[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#i(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#a&&(this.#s=new Map(this.#s)),this.#a=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#i(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function On(t){return Math.log(Math.max(t,.001))}var zb=.001;function pa(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function Wp(t,e){return t===0?e:Math.log(Math.max(1+t*e,zb**t))/t}function ha(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return re(re(o+1)^Math.imul(n+1,2654435769))%r}var Mn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;b(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)b(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let c=this.start[o];this.others=new Uint32Array(c),this.logs=new Float32Array(c),this.folds=new Uint8Array(c),this.weights=new Float32Array(c);let u=this.start.slice(),l=(f,d,p)=>{let h=u[f]++;this.others[h]=d,this.logs[h]=On(i[p]),this.folds[h]=ha(f,d,r),this.weights[h]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},de=-1;function Yp(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(de),a=new Uint32Array(s);for(let c=0;c<s;c++){let u=0;for(i[c]===de&&(a[u++]=c);u>0;){let l=a[--u];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=c,i[o[f]]===de&&(i[o[f]]=c,a[u++]=o[f]))}}return i}var Pn=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let c=o[0]*e[a],u=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=c*r[0]+u*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=c*e[d]+u*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],c=this.#t[i]+a*(r?.[i]??0);for(let u=0;u<=i;u++){let l=this.#e[i*o+u]+(i===u?a:0);for(let f=0;f<u;f++)l-=n[i*o+f]*n[u*o+f];n[i*o+u]=i===u?Math.sqrt(l):l/n[u*o+u]}for(let u=0;u<i;u++)c-=n[i*o+u]*s[u];s[i]=c/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var $b=.1,Ob=.25,Mb=3;function Jp(t,e){return t>Math.floor(e*Ob)?-1:1}var eo=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#a=new Float64Array(4);#i=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new Pn(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=Mb,this.#o=Float64Array.from({length:r},(o,n)=>Jp(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,c=a.length,u=this.#i*c,l=this.#n,f=e-o[n];l[u]=1;for(let p=1;p<c;p++)l[u+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let h=0;h<c;h++)p-=l[u+h]*s[i+h];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#i]=f,this.#a[this.#i++]=d,this.#i===4&&this.#c()}solve(e){this.#a.fill(0,this.#i),this.#c();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#c(){this.#t.addFour(this.#n,this.#s,this.#a),this.#i=0}};function Xp(t,e,r){let o=new Be(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:$b*o.normal())}function Qp(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:c}=e,{rank:u,numPlainSweeps:l,numSweeps:f,without:d}=r,p=u+1,h=new eo(r);for(let g=0;g<f;g++){let m=g<l?void 0:t;for(let w=0;w<a;w++){if(o[w]===o[w+1]){t.fill(0,w*p,(w+1)*p);continue}for(let x=o[w];x<o[w+1];x++){if(d>>s[x]&1)continue;let T={value:c[x],weight:i[x]};h.add(T,t,n[x]*p,m,w*p)}t.set(h.solve(),w*p)}}}function eh(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=Jp(s,o)*t[r+s]*e[r+s];return n}var Pb=5,th=3,rh=2048,ch=64,Ib=1e-6,oh=8,Rb=2;function Nb(t,e,{estimate:r,usualError:o}){let n=In(e,ch),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-(th+1)/2*Math.log1p(((p-f)/o)**2/th))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let c=n.map(({log:f},d)=>{let p=nh(a.map((h,g)=>h-i[d][g]));return Math.abs(p.reduce((h,g,m)=>h+g*s[d][m],0)-f)}).sort((f,d)=>f-d),u=c.length,l=o*(1+Rb/u);return{nodes:[...nh(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(u*c[u>>1]+oh*l)/(u+oh)}}function nh(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<Ib?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function In(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var Lb=2,Cb=2/3,Db=5,Bb=2,sh=de-1,zt=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,c=n+1,u=Ub(e,s),l=new Float32Array(i*o.length*c),f=new Float32Array(a.length),d=Xp(i,n,r.seed);return o.forEach((p,h)=>{for(let m=0;m<f.length;m++)f[m]=pa(p,a[m]-u[0]);let g=h===0?{numPlainSweeps:Lb,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-Cb)*r.numSweeps)};Qp(d,{neighbours:e,values:f},{...r,...g});for(let m=0;m<i;m++)l.set(d.subarray(m*c,(m+1)*c),(m*o.length+h)*c)}),new t({powers:o,options:r,vectors:l,components:Yp(e,s),range:u})}vectorOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<de?sh-i:i}}put(e,{vectors:r,component:o}){this.vectorOf(e).vectors.set(r),this.factors.components[e]=o===de?de:sh-o}estimate(e,r){if(e.component===de||r.component===de)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,c=e.component===r.component?n.rank:0,u=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let h=eh(e.vectors,r.vectors,p*this.#e,c),g=Math.min(a,Math.max(i,s+Wp(d,h)));u+=g,l=Math.min(l,g),f=Math.max(f,g)}),{log:u/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),c=x=>this.vectorOf(x).component,u=ah(e.map(({node:x})=>c(x)).filter(x=>x!==de)),l=e.filter(({node:x})=>c(x)===u);if(u===void 0)return{vectors:a,component:de,error:r};let f=[...i.keys()].filter(x=>i[x]===u&&!o.has(x)),d=In(f,rh).map(x=>({node:x,place:this.vectorOf(x)})),p=l.map(({node:x,log:T})=>({place:this.vectorOf(x),log:T})),{nodes:h,error:g}=Nb(d,p,{estimate:(x,T)=>this.estimate(x,T)?.log??NaN,usualError:r}),m=s.regularisation*Pb,w=new eo({...s,regularisation:m});return n.forEach((x,T)=>{let I=this.#r(h,T),k=I;for(let R=0;R<Db;R++)this.#t(w,l,T,k),k=w.solve(I);a.set(k,T*this.#e)}),{vectors:a,component:u,error:ih(g,r)}}typicalNode(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=ah(o.filter(f=>f>de));if(s===void 0)return{vectors:n,component:de,error:e};let i=In([...o.keys()].filter(f=>o[f]===s),rh),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let c=In(i,ch).map(f=>this.vectorOf(f)),u=(f,d)=>this.estimate(f,d)?.log??NaN,l=c.flatMap(f=>{let d=u(f,{vectors:n,component:s});return c.filter(p=>p!==f).map(p=>Math.abs(u(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:ih(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:c,log:u}of r){let l=(c*s.length+o)*this.#e;e.add({value:pa(s[o],u-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let c=(i*s.length+r)*this.#e;for(let u=0;u<o.length;u++)o[u]+=a*n[c+u]}return o}};function ih(t,e){return Math.fround(Bb*t*Math.max(1,t/e))}function ah(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function Ub({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let c=0;c<t.length;c++)o>>e[c]&1||(n+=r[c]*t[c],s+=r[c],i=Math.min(i,t[c]),a=Math.max(a,t[c]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var $t=[0,.5,1],uh=6,Zb=.2;function Rn(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,$t.length,1+o],nodes:[r+1,2,e],fits:[r+1,uh]}}function ma({numNodes:t,numFolds:e,rank:r},o){let n=$t.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var Ot=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,b(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return ha(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.vectorOf(f):f.places[o],c=n.estimate(a(e),a(r));if(!c)return;let u=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(u(e)*u(r))*(c.spread/i+Zb);return{rttMs:Math.exp(c.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:On(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalNode(r))}}hasCoordinates(e,r=this.size.numFolds){return this.fits[r].factorisation.vectorOf(e).component!==de}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(Rn(e))){let{length:d}=r[l];b(d===f.reduce((p,h)=>p*h),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:c}=r,u=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=u(c,uh,f),[p,h,g]=d.subarray(3);return{factorisation:new zt({powers:$t,options:{rank:s,knee:p,regularisation:h},vectors:u(i,o*$t.length*(1+s),f),components:u(a,o,2*f),range:d.subarray(0,3)}),errors:u(a,o,2*f+1),usualError:g}}))}};var qb=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],jb=[.5],lh=5,Fb=1,Hb=5e-4,Kb=4;function fh(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=qb}=e;b(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=Kb*$t.length*(o+1)*t.numNodes,c=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),u=new Mn(t,o),l={rank:c,numSweeps:n,seed:r},f=i.map(Gb),d=f.map(h=>Wb(u,{...l,...h})),p=Array.from({length:o+1},(h,g)=>{let m=g===o,w=m?2**o-1:1<<Vb(g),x=Jb(d.map(I=>Yb(u,I,w)));return{factorisation:zt.fit(u,{...l,...f[x],powers:$t,without:m?0:1<<g}),...Xb(u,d[x],w)}});return new Ot({numNodes:t.numNodes,numFolds:o,rank:c},p)}function Gb({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function Vb(t){return t^1}function Wb(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,c=new Float32Array(s.length);for(let u=0;u<a;u+=2){let l=3<<u,f=zt.fit(t,{...e,powers:jb,without:l});for(let d=0;d<i;d++){let p=f.vectorOf(d);for(let h=r[d];h<r[d+1];h++){if(!ga(l,n[h]))continue;let g=f.estimate(p,f.vectorOf(o[h]));c[h]=g?Math.abs(g.log-s[h]):NaN}}}return c}function ga(t,e){return(t>>e&1)===1}function Yb({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!ga(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function Jb(t){return t.indexOf(Math.min(...t))}function Xb({start:t,folds:e,numNodes:r},o,n){let s=(u,l)=>{let f=o.subarray(u,l).filter((d,p)=>ga(n,e[u+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??Fb,a=Math.fround(Math.max(Hb,i)),c=Float32Array.from({length:r},(u,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+lh*a)/(f+lh)});return{usualError:a,errors:c}}var dh=[{quarterDegrees:2,blockBits:{v4:8,v6:8}},{quarterDegrees:4,blockBits:{v4:8,v6:8}},{quarterDegrees:4,blockBits:{v4:9,v6:10}},{quarterDegrees:4,blockBits:{v4:10,v6:12}},{quarterDegrees:4,blockBits:{v4:11,v6:14}},{quarterDegrees:4,blockBits:{v4:12,v6:16}},{quarterDegrees:8,blockBits:{v4:14,v6:16}},{quarterDegrees:8,blockBits:{v4:16,v6:16}}],to={4:4,16:6};function Dn(t){let e=0;for(let r=0;r<to[t.length===4?4:16];r++)e=e*256+t[r];return e}function Qb(t){let e=t.filter(r=>r!==void 0);return e.length<2?e[0]:Object.assign({},...e)}var ph=1,ev=Array.from({length:4},()=>({starts:new Float64Array,values:new Uint32Array})),Nn={position:void 0,country:0,region:0},Ln=class t{#e;constructor(e){this.#e=e}static of(e,r,o=()=>{}){let n=new xa(r),s=e.parts??[e],i=0,a=[4,16].flatMap(c=>{let u=_a(r,c),l=ov(e,c,u),[f,d]=[new Cn,new Cn];for(let p of l){let h=rv(p*2**u+2**(u-1),c),g=s.map(x=>x.locate(h)).filter(x=>x!==void 0),m=g.filter(tv),w=m.length<2?m[0]:Qb(m);f.add(p,w?n.of(w):0),d.add(p,g.findLast(({asNumber:x})=>x!==void 0)?.asNumber??0),++i%2**18===0&&o(i)}return[f.ranges(),d.ranges()]});return new t(nv({coarseness:r,sites:n.sites,ranges:a}))}static decode(e,r){if(!(e[0]>0))return new t({coarseness:dh[0],sites:[Nn],ranges:ev});let o=new ba(uv(e),r);o.number()!==ph&&o.fail("its format is unknown");let[n,s,i,a]=Array.from({length:4},()=>o.number()),c={quarterDegrees:n,blockBits:{v4:s,v6:i}},u=[Nn];for(let f=0;f<a;f++){let[d,p,h,g]=Array.from({length:4},()=>o.number()),m=d===0?void 0:{latitude:(d-1)*n/4-90,longitude:p*n/4-180};u.push({position:m,country:h,region:g})}let l=Array.from({length:4},()=>{let f=o.number();f>3*e.length&&o.fail("it has fewer ranges than it says");let d=new Float64Array(f),p=new Uint32Array(f);for(let h=0,g=0;h<f;h++)d[h]=g+=o.number(),p[h]=o.number();return{starts:d,values:p}});for(let{values:f}of[l[0],l[2]])f.some(d=>d>a)&&o.fail("it has a number of no site");return new t({coarseness:c,sites:u,ranges:l})}encode(){let{coarseness:{quarterDegrees:e,blockBits:r},sites:o,ranges:n}=this.#e,s=new ya;s.add(ph,e,r.v4,r.v6,o.length-1);for(let{position:i,country:a,region:c}of o.slice(1)){let u=l=>Math.round(l*4/e);s.add(i?1+u(i.latitude+90):0,i?u(i.longitude+180):0),s.add(a,c)}for(let{starts:i,values:a}of n){s.add(i.length);for(let c=0;c<i.length;c++)s.add(i[c]-(c>0?i[c-1]:0),a[c])}return cv(s.bytes())}get coarseness(){return this.#e.coarseness}get numRanges(){let[e,r,o,n]=this.#e.ranges.map(({starts:s})=>s.length);return{sites:e+o,networks:r+n}}get numSites(){return this.#e.sites.length-1}locate(e,r){let[o,n]=this.valuesAt(e,r);return{...this.#e.sites[o],asNumber:n}}valuesAt(e,r){let{coarseness:o,ranges:n}=this.#e,s=Math.floor(e/2**_a(o,r)),i=r===4?0:2;return[hh(n[i],s),hh(n[i+1],s)]}coarsened(e){return t.of(new wa(this),e)}within(e){let r=this.encode();if(r.byteLength<=e)return r;for(let o of dh){let{quarterDegrees:n,blockBits:s}=this.coarseness;if(o.quarterDegrees<n||o.blockBits.v4<s.v4)continue;let i=this.coarsened(o).encode();if(i.byteLength<=e)return i}throw new Error(`the places take more than ${e} bytes however coarse`)}get columns(){return this.#e}};function tv({latitude:t,countryCode:e,region:r}){return t!==void 0||e!==void 0||r!==void 0}var wa=class{#e;#t=new Map;constructor(e){this.#e=e}locate(e){let[r,o]=this.#e.valuesAt(Dn(e),e.length===4?4:16),n=r*2**32+o,s=this.#t.get(n);if(s)return s;let{position:i,country:a,region:c}=this.#e.columns.sites[r],u={...i,...a>0&&{countryCode:iv(a)},...c>0&&{region:`#${c}`},...o>0&&{asNumber:o}};return this.#t.set(n,u),u}visitBounds(e,r){let{coarseness:o,ranges:n}=this.#e.columns,s=2**_a(o,e);for(let{starts:i}of n.slice(e===4?0:2,e===4?2:4))for(let a of i)r(a*s)}};function _a({blockBits:t},e){return e===4?t.v4:t.v6}function rv(t,e){let r=new Uint8Array(e);for(let o=to[e]-1;o>=0;o--)r[o]=t%256,t=Math.floor(t/256);return r}function ov(t,e,r){let o=2**(8*to[e]-r),n=new Float64Array(1024),s=0;return t.visitBounds(e,i=>{let a=Math.floor(i/2**r);for(let c of a*2**r===i?[a]:[a,a+1])if(!(c>=o||s>0&&n[s-1]===c)){if(s===n.length){let u=new Float64Array(2*s);u.set(n),n=u}n[s++]=c}}),n.subarray(0,s).sort().filter((i,a,c)=>a===0||i!==c[a-1])}function hh({starts:t,values:e},r){let o=0,n=t.length;for(;o<n;){let s=o+n>>>1;t[s]<=r?o=s+1:n=s}return o===0?0:e[o-1]}var Cn=class{#e=[];#t=[];add(e,r){r!==(this.#t.at(-1)??0)&&(this.#e.push(e),this.#t.push(r))}ranges(){return{starts:Float64Array.from(this.#e),values:Uint32Array.from(this.#t)}}},xa=class{sites=[Nn];#e=new Map;#t=new WeakMap;#r;constructor({quarterDegrees:e}){this.#r=e/4}of(e){let r=this.#t.get(e);if(r!==void 0)return r;let{latitude:o,longitude:n,countryCode:s="",region:i=""}=e,a=f=>Math.round(f/this.#r)*this.#r,c={position:o===void 0||n===void 0?void 0:{latitude:a(o),longitude:a(n)},country:sv(s),region:av(i)},u=`${c.position?.latitude} ${c.position?.longitude} ${c.country} ${c.region}`,l=this.#e.get(u);return l===void 0&&(l=c.position||c.country>0||c.region>0?this.sites.push(c)-1:0,this.#e.set(u,l)),this.#t.set(e,l),l}};function nv({coarseness:t,sites:e,ranges:r}){let o=new Uint32Array(e.length);for(let{values:a}of[r[0],r[2]])for(let c of a)o[c]++;let n=Array.from({length:e.length-1},(a,c)=>c+1).sort((a,c)=>o[c]-o[a]||a-c),s=new Uint32Array(e.length);n.forEach((a,c)=>s[a]=c+1);let i=({starts:a,values:c})=>({starts:a,values:c.map(u=>s[u])});return{coarseness:t,sites:[Nn,...n.map(a=>e[a])],ranges:[i(r[0]),r[1],i(r[2]),r[3]]}}function sv(t){return/^[A-Z]{2}$/.test(t)?26*(t.charCodeAt(0)-65)+t.charCodeAt(1)-64:0}function iv(t){return t===0?"":String.fromCharCode(65+Math.floor((t-1)/26),65+(t-1)%26)}function av(t){if(t==="")return 0;if(t.startsWith("#"))return Number(t.slice(1));let e=2166136261;for(let r=0;r<t.length;r++)e=Math.imul(e^t.charCodeAt(r),16777619);return(e>>>16^e)&65535||1}var ya=class{#e=new Uint8Array(1024);#t=0;add(...e){for(let r of e){if(this.#t+8>this.#e.length){let o=new Uint8Array(2*this.#e.length);o.set(this.#e),this.#e=o}for(;r>=128;)this.#e[this.#t++]=128|r%128,r=Math.floor(r/128);this.#e[this.#t++]=r}}bytes(){return this.#e.subarray(0,this.#t)}},ba=class{#e;#t;#r=0;constructor(e,r){this.#e=e,this.#t=r}number(){let e=0;for(let r=1;;r*=128){this.#r>=this.#e.length&&this.fail("it ends too early");let o=this.#e[this.#r++];if(e+=(o&127)*r,o<128)return e;r>2**42&&this.fail("a number is too long")}}fail(e){throw new W(`the table of places is damaged: ${e}; use an earlier checkpoint`,{path:this.#t})}};function cv(t){let e=new Float32Array(Math.ceil(t.length/3));for(let r=0,o=0;r<e.length;r++,o+=3)e[r]=t[o]*65536+(t[o+1]??0)*256+(t[o+2]??0);return e}function uv(t){let e=new Uint8Array(3*t.length);for(let r=0,o=0;r<t.length;r++){let n=t[r];b(n>=0&&n<2**24,"a number of the table of places is out of range"),e[o++]=n>>16,e[o++]=n>>8,e[o++]=n}return e}var $=4294967295,lv=64,Mt=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let c=0;c<Math.min(lv,s);c++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):$;a=a+1===s?0:a+1}return $}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){fv(this.#e,e.subarray(2*this.firstRow))}load(e){b(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),dv(e.subarray(2*this.firstRow),this.#e)}};function fv(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function dv(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function mh(t,e){let r=re(t+e),o=re(r^Bn);return{hash1:r,hash2:o,length:e,row:$,isDropped:!1,isAllDropped:!1,numBytes:0,number:0,isWhole:!1}}var Bn=2654435769;function Un(t,e){t.hash1=re(t.hash1*257+e+1),t.hash2=re(Math.imul(t.hash2,65599)+e+1),t.numBytes<to[t.length]&&(t.number=t.number*256+e),t.isWhole=++t.numBytes===t.length}function Zn(t,e,r=0){let o=(n,s)=>re(n+s^Math.imul(n,s)^Math.imul(r,Bn));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function ro(t,e,r){return r>0&&re(t^e)<r*2**32}var oo="coordinates.keys";function no(t){return`coordinates.${t}`}function gh(t){let e=Object.entries(Rn(ur(t))).map(([r,o])=>{let n=o[o.length-1];return[no(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[oo,[t.nodes,2]],...e])}function ur({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var qn=class{config;#e;#t;constructor(e){this.config=e,this.#e=new Mt(0,e.nodes)}load(e){this.#e.load(D(e,oo));let r=Object.keys(Rn(ur(this.config))),o=Object.fromEntries(r.map(n=>[n,D(e,no(n))]));this.#t=Ot.load(ur(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(oo,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(no(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=fh({numNodes:r,...e},s)}hasCoordinates(e){return e!==$&&(this.#t?.hasCoordinates(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasCoordinates(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=Ot.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==$)return;let a=n&&e!==$&&r!==$?i.foldOf(e,r):this.config.folds,[c,u]=[e,r].map((f,d)=>f!==$&&!s[d]&&i.hasCoordinates(f,a)?f:i.typical),l=i.estimate(c,u,a);return l&&{...l,isOfBoth:typeof c=="number"&&typeof u=="number"}}};var mv=0,gv=256,wv=512,_v=768,va=772,xv=0,yv=va,bv=2*va,_h=3*va,xh=_h+48,yh=xh+26,wh=2**-10,bh=22,vh=yh+bh;function Sh(t){return Eh(t,e=>[mv+(e>>8),gv+(e&255)])}function kh(t,e){return Eh(t,r=>{let o=(r>>8)-e;return o===0?[wv+(r&255)]:[_v+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function Eh(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,wh)/wh),a=Math.min(bh-1,Math.floor(2*i));return[...e(Ze(t.rttMs)).map(c=>bv+c),yh+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>xv+i),...e(o).map(i=>yv+i),_h+n,xh+s]}var vv={v1:266,v2:267},so=t=>O().min(1).max(t),Ah=2**36,Th=wt({rows:O().min(16).max(2**24),seed:O().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),Sv=wt({...Th.shape,history:mt().default(!0)}),kv=wt({nodes:O().min(16).max(2**24),rank:O().min(1).max(64).default(24),folds:O().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),Ev=wt({tableSize:O().min(0).max(2**24).default(0),sources:q(z()).default([]),dropShare:v().min(0).max(.95).default(.3)}),Av=wt({numLayers:so(1024),width:so(65536),numHeads:so(1024),headDim:wp([32,64,128]),mlpWidth:so(262144),sequenceLength:so(65535),vocabulary:je(["v1","v2"]).default("v2"),rttEncoding:je(Lp).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:je(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:mt().default(!0),keyShift:mt().default(!1),byteVectors:je(["random","ordinal"]).default("random"),places:Ev.nullable().default(null),prefixVectors:Th.nullable().default(null),pairVectors:Sv.nullable().default(null),coordinates:kv.nullable().default(null)});function Sa(t){let e=Sp(Av,t,"model");return Tv(e),e}function Tv(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Me(`model.${r}`,`found ${t[r]}, expected a multiple of 4`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Me(`model.${r}`,`vocabulary ${t.vocabulary} does not support it, expected v2 or null`);if(t.places&&!t.prefixVectors)throw new Me("model.places","model.prefixVectors is null, expected a table for the keys of places");if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Me("model.rttEncoding","vocabulary v2 has its own encoding, expected v1 or null");let e=$v(t);if(e>Ah)throw new Me("model",`found ${e} parameters, expected at most ${Ah}`)}function jn({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function be(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+zv(t)}function zv({pairVectors:t,coordinates:e}){return t?.history||e?vh:0}function G(t){return vv[t.vocabulary]}function Fn(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=G(t),s=new Map([["wte.weight",[n,e]]]),i=be(t);i>0&&s.set("address_embed.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let c=`blocks.${a}`;s.set(`${c}.attn.q_proj.weight`,[o,e]),s.set(`${c}.attn.k_proj.weight`,[o,e]),s.set(`${c}.attn.v_proj.weight`,[o,e]),s.set(`${c}.attn.o_proj.weight`,[e,o]),s.set(`${c}.mlp.up_proj.weight`,[r,e]),s.set(`${c}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function Hn(t){let e=Fn(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(Te,[n,2]),o?.history&&e.set(lr,[o.rows,xt]),t.places&&e.set(io,[t.places.tableSize,1]);let s=t.coordinates?gh(t.coordinates):[];return new Map([...e,...s])}var Te="address_embed.keys",lr="address_embed.history",io="places.table";function $v(t){let e=0;for(let r of Fn(t).values())e+=r[0]*r[1];return e}var $h=46,zh=58,ao=8;function Kn(t){return t.includes(":")?Ov(t):Oh(t,0)}function te(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, expected 4 or 16`);if(Iv(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:ao},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=Rv(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function Oh(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==$h)return;let s=o,i=0;for(;o-s<3;o++){let c=t.charCodeAt(o)-48;if(!(c>=0&&c<=9))break;i=i*10+c}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function Ov(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===ao)return;let s=Mv(t,r);if(t.charCodeAt(s)===$h){let a=Oh(t,r);if(!a||o>ao-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==zh||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===zh){if(n>=0)return;n=o,r++}}return Pv(e,o,n)}function Mv(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function Pv(t,e,r){if(r<0)return e===ao?t:void 0;if(e===ao)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function Iv(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function Rv(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function ka(t){let{bytes:e,length:r}=Ih(t);return co(e,r)}function Mh(t){let{bytes:e,length:r}=Ih(t);return e.some((o,n)=>(o&~Ea(r,n))!==0)}function co(t,e=t.length*8){return{bytes:t.map((r,o)=>r&Ea(e,o)),length:e}}function ee({bytes:t,length:e}){return e===t.length*8}function at(t){let e=te(t.bytes);return ee(t)?e:`${e}/${t.length}`}function Ph({bytes:t,length:e},r){return{first:t[r],last:t[r]|~Ea(e,r)&255}}function Ea(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function uo(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it and give its address":""}function Ih(t){let e=Nv(t);if("fault"in e)throw new y(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function Nv(t){let e=t.indexOf("/"),r=Kn(e<0?t:t.slice(0,e));if(!r)return{fault:`expected an IPv4 or IPv6 address or prefix${uo(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, expected 0 to ${o}`}}var Lv=2**18,Cv=2**20,fr=2**21,Pt={measurements:0,lastS:null},U=4,za=class{columns;isTruncated;#e;constructor(e,r){this.columns=e,this.isTruncated=r;let{v4:o,v6:n,seen:s,pairs:i}=e;this.#e=o.length,b(s.length===U*(o.length+n.length/U)&&i.length%U===0,"the columns of known addresses are of different lengths")}get numAddresses(){return this.columns.seen.length/U}get numPairs(){return this.columns.pairs.length/U}address(e){let r=this.#t(e);return r<0?void 0:this.#n(r)}pair(e,r){return this.measuredIn(e,{bytes:r,length:8*r.length})}measuredIn(e,r){let o=this.#t(e);if(o<0)return Pt;let{pairs:n}=this.columns,[s,i]=this.#r(r),a=0,c=0,u=Aa(this.numPairs,l=>n[U*l]-o||n[U*l+1]-s);for(let l=U*u;n[l]===o&&n[l+1]<i;l+=U)a+=n[l+2],c=Math.max(c,n[l+3]);return fo(a,c)}destinationsOf(e){let r=this.#t(e);if(r<0)return[];let{pairs:o}=this.columns,n=[],s=Aa(this.numPairs,i=>o[U*i]-r);for(let i=s;i<this.numPairs&&o[U*i]===r;i++){let a=U*i,c={measurements:o[a+2],lastS:o[a+3]};n.push({address:this.#n(o[a+1]),seen:c})}return n}get pairDiscount(){let e=[0,0,0];for(let r=2;r<this.columns.pairs.length;r+=U)this.columns.pairs[r]<=2&&e[this.columns.pairs[r]]++;return(e[1]+1)/(e[1]+2*e[2]+3)}*destinations(){for(let e=0;e<this.numAddresses;e++)this.columns.seen[U*e+2]>0&&(yield this.#n(e))}*addresses(){for(let e=0;e<this.numAddresses;e++)yield this.#n(e)}countIn(e){let[r,o]=this.#r(e);return o-r}prefixAround(e){for(let r of e.length===4?[24,16,8]:[64,48,32]){let o=co(e,r),n=this.countIn(o);if(n>0)return{prefix:o,numKnown:n}}}#t(e){let[r,o]=this.#r({bytes:e,length:8*e.length});return o>r?r:-1}#r({bytes:e,length:r}){let o=e.map((n,s)=>n|255>>Math.min(8,Math.max(0,r-8*s)));return[this.#o(e,!1),this.#o(o,!0)]}#o(e,r){let{v4:o,v6:n}=this.columns,s=Ch(e),i=r?-1:0,[a,c,u]=s.length===1?[o,1,0]:[n,U,this.#e];return u+Aa(a.length/c,l=>Dh(a,c*l,s)||i)}#n(e){let{v4:r,v6:o,seen:n}=this.columns,s=e<this.#e?r.subarray(e,e+1):o.subarray(U*(e-this.#e),U*(e-this.#e+1)),i=U*e;return{bytes:Uint8Array.from({length:4*s.length},(a,c)=>s[c>>2]>>>24-8*(c&3)),asSource:fo(n[i],n[i+1]),asDestination:fo(n[i+2],n[i+3])}}};function fo(t,e){return t===0?Pt:{measurements:t,lastS:e>0?e:null}}function Aa(t,e){let r=0,o=t;for(;r<o;){let n=r+o>>>1;e(n)<0?r=n+1:o=n}return r}function Ch(t){let e=new DataView(t.buffer,t.byteOffset,t.length);return Uint32Array.from({length:t.length/4},(r,o)=>e.getUint32(4*o))}function Dh(t,e,r){for(let o=0;o<r.length;o++)if(t[e+o]!==r[o])return t[e+o]-r[o];return 0}var mo=class t{#e=new Map;#t=[];#r=[];#o=new Map;#n=[];#s=!1;#a=0;#i=1/0;#c=-1/0;static of({known:{columns:e,isTruncated:r},summary:o}){let n=new t,{v4:s,v6:i,seen:a,pairs:c}=e;for(let u=0;u<s.length;u++)n.#u(s.subarray(u,u+1));for(let u=0;u<i.length;u+=U)n.#u(i.subarray(u,u+U));a.forEach((u,l)=>n.#r[l]=u);for(let u=0;u<c.length;u+=U)n.#o.set(c[u]*fr+c[u+1],u/U),n.#n.push(c[u+2],c[u+3]);return n.#s=r,n.#a=o.measurements,n.#i=o.startS??1/0,n.#c=o.endS??-1/0,n}id(e){return this.#u(Ch(e))}#u(e){let r=e.join(),o=this.#e.get(r);if(o!==void 0)return o;let n=this.#t.length;return n===fr?(this.#s=!0,-1):(this.#e.set(r,n),this.#t.push(e),this.#r.push(0,0,0,0),n)}add(e,r,o){if(this.#a++,o!==null&&(this.#i=Math.min(this.#i,o),this.#c=Math.max(this.#c,o)),e<0||r<0)return;Ta(this.#r,U*e,o),Ta(this.#r,U*r+2,o);let n=e*fr+r,s=this.#o.get(n);if(s===void 0){if(s=this.#o.size,s===fr){this.#s=!0;return}this.#o.set(n,s),this.#n.push(0,0)}Ta(this.#n,2*s,o)}summary(e){let r=n=>this.#t.filter((s,i)=>this.#r[U*i+n]>0).length,o=this.#i<1/0;return{origin:e.origin,isSynthetic:e.isSynthetic,startS:o?this.#i:null,endS:o?this.#c:null,measurements:this.#a,sources:r(0),destinations:r(2)}}table(e=Lv,r=Cv){let o=this.#r,n=p=>o[U*p]+o[U*p+2],s=Rh(this.#t.map((p,h)=>h),e,n);s.sort((p,h)=>{let[g,m]=[this.#t[p],this.#t[h]];return g.length-m.length||Dh(g,0,m)});let i=new Map(s.map((p,h)=>[p,h])),a=[];for(let[p,h]of this.#o){let g=i.get(Math.floor(p/fr)),m=i.get(p%fr);g===void 0||m===void 0||a.push([g,m,this.#n[2*h],this.#n[2*h+1]])}let c=Rh(a,r,([,,p])=>p);c.sort((p,h)=>p[0]-h[0]||p[1]-h[1]);let u=s.filter(p=>this.#t[p].length===1),l=s.slice(u.length),f={v4:Uint32Array.from(u,p=>this.#t[p][0]),v6:Uint32Array.from(l.flatMap(p=>[...this.#t[p]])),seen:Uint32Array.from(s.flatMap(p=>o.slice(U*p,U*(p+1)))),pairs:Uint32Array.from(c.flat())},d=s.length===this.#t.length&&c.length===this.#o.size;return new za(f,this.#s||!d)}};function Ta(t,e,r){t[e]++,t[e+1]=Math.max(t[e+1],r??0)}function Rh(t,e,r){return t.length<=e?t:t.toSorted((o,n)=>r(n)-r(o)).slice(0,e)}function lo(t,e=Pt){let{measurements:r,lastS:o}=fo(t.measurements+e.measurements,Math.max(t.lastS??0,e.lastS??0));return{measurements:r,inAdaptation:e.measurements,lastS:o}}function Gn({known:t,adaptation:e},r,o){return lo(t.measuredIn(r,o),e?.known.measuredIn(r,o))}function Bh(t,e,r){if(!t){let h="No table of the training data is at hand: whether these addresses were measured is not known.",g=lo(Pt);return{kind:"network",text:h,src:g,dst:g,pair:g}}let{known:o,summary:n,adaptation:s}=t,[i,a]=[e,r].map(h=>lo(Nh(o,h),s&&Nh(s.known,h))),c=ee(e)&&ee(r),u=c?Gn(t,e.bytes,r):lo(Pt),l=c?Gn(t,r.bytes,e):lo(Pt),f=u.measurements+l.measurements>0?"pair":i.measurements>0?a.measurements>0?"addresses":"source":a.measurements>0?"destination":"network",d=(...h)=>` a guess${h.map((g,m)=>`${m===0?" from ":" and "}${Dv(o,g)}`).join("")}.`,p=[{pair:u.measurements>0?`Pair ${dr(u)}.`:`Pair ${dr(l)}, in the other direction only.`,addresses:`Source ${dr(i)}, destination ${dr(a)}, the pair never: an estimate from each.`,source:`Source ${dr(i)}, destination never:${d(r)}`,destination:`Destination ${dr(a)}, source never:${d(e)}`,network:`Neither ${c?"address":"place as one address"} is in the training data:${d(e,r)}`}[f]];return(o.isTruncated||s?.known.isTruncated)&&f!=="pair"&&p.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&p.push("The model knows a synthetic Internet, not the real one."),{kind:f,text:p.join(" "),src:i,dst:a,pair:u}}function Nh(t,e){let r=ee(e)?t.address(e.bytes):void 0;if(!r)return Pt;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return fo(o.measurements+n.measurements,s)}function Dv(t,e){let r=ee(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${at(e)})`;let{prefix:o,numKnown:n}=r;return`${at(o)} (${n} known ${n===1?"address":"addresses"})`}function dr({measurements:t,inAdaptation:e,lastS:r}){if(t===0)return"never measured";let o=t===1?"measured once":`measured ${t} times`,n=e===t?`in ${t} ${t===1?"measurement":"measurements"} of the adaptation`:e>0?`${o}, ${e} of them in the adaptation`:o;return r===null?n:`${n}, last on ${new Date(r*1e3).toISOString().slice(0,10)}`}var po=P({measurements:O(),in_adaptation:O().describe("how many of them the model was adapted to"),last_seen:z().nullable().describe("ISO 8601; null if never, or without a known time")}),Uh=P({kind:je(["pair","addresses","source","destination","network"]).describe("whether the pair, both addresses, one of them or none were measured"),text:z().describe("the same for people"),src:po,dst:po,pair:po}),Lh=P({start:z().nullable().describe("ISO 8601; null if unknown"),end:z().nullable(),measurements:O(),sources:O(),destinations:O()}),Zh=P({origin:z().describe("what the measurements are, such as names of files; empty if unknown"),is_synthetic:mt().nullable().describe("whether of a synthetic Internet; null if unknown"),...Lh.shape,adaptation:Lh.nullable().describe("what the model was adapted to afterwards")});function qh({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:ho(r),dst:ho(o),pair:ho(n)}}function ho({measurements:t,inAdaptation:e,lastS:r}){return{measurements:t,in_adaptation:e,last_seen:Bv(r)}}function Bv(t){return t===null?null:new Date(t*1e3).toISOString()}var ve="address_embed.weight",Uv={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function Zv({coordinates:t}){return t?ma(ur(t),0).reduce((e,{length:r})=>e+r,0):0}function jh({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?xt:0}}function Fh(t,e,r){let o=new Map;return Kh(t,r,({name:n,start:s,length:i,values:a,at:c})=>{let u=o.get(n)??D(e,n).slice();o.set(n,u),u.set(a.subarray(c,c+i),s)}),new Map([...e,...o])}function Hh(t,e,r,o=Uv.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(jh(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(Zv(t)*o.length)}};return Kh(t,n,({name:s,start:i,length:a,values:c,at:u})=>{c.set(D(e,s).subarray(i,i+a),u)}),n}function Kh(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...c}}=e,{width:u,coordinates:l}=t,{firstPair:f,length:d}=jh(t);if(b(o.every(h=>h<be(t)),"rows of another model"),o.forEach((h,g)=>{r({name:Te,start:2*h,length:2,values:n,at:2*g}),r({name:ve,start:u*h,length:u,values:s,at:u*g}),!(h<f||d===0)&&r({name:lr,start:d*(h-f),length:d,values:i,at:d*g})}),b(a.every(h=>h<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((h,g)=>{r({name:oo,start:2*h,length:2,values:c.keys,at:2*g});for(let{part:m,start:w,length:x}of ma(ur(l),h))r({name:no(m),start:w,length:x,values:c.values,at:p}),p+=x})}function Ve(t){return t.shape.reduce((e,r)=>e*r,1)}function It(t){return Ve(t)*(t.dtype==="f16"?2:4)}function go(t,e="f32"){return Math.max(16,Math.ceil(It({shape:t,dtype:e})/16)*16)}var $a=256,Oa=65535;function ne(t){let e=Math.ceil(t/Oa);return[Math.ceil(t/e),e]}var ze=class{registry;label;#e;#t;#r;#o;#n;#s;#a;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){b(!this.#a,`program ${this.label} is already built`);let r=this.#i(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/$a)*$a}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){b(!this.#s,`scratch memory of program ${this.label} is already allocated`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+Gh(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}destroy(){this.#a?.uniforms.destroy(),this.#s?.destroy()}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#c(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)qv(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),c=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:c,flops:n.flops??0,bytes:Gh(n)})}return this.#r.check(),r}#i(e){let r=this.registry.get(e.kernel,e.overrides,Hv(e));return Kv(r,e),r}#c(){if(this.#a)return this.#a;let{device:e}=this.#r,r=new ArrayBuffer(Math.max($a,this.#o));for(let n of this.#e)Fv(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#a={uniforms:o,bindGroups:this.#e.map(n=>jv(e,n,o))},this.#a}};function qv(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function jv(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let u=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:u}}}let c=n.bindings[s];return{binding:i,resource:{buffer:c.buffer,offset:c.offsetBytes}}})})}function Gh({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+It(n),0)}function Fv(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function Hv({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function Kv(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);Vh(t,"binding",r,Object.keys(e.bindings)),Vh(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=Oa&&Number.isInteger(o)))throw new B(t.name,`the grid is [${e.grid}], expected 1 to ${Oa} workgroups`)}function Vh(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new B(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new B(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function K(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new B(t,`${o} is ${n}, expected a positive multiple of ${r}`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new B(t,`the length is ${e}, expected at least 1`);for(let[o,n]of Object.entries(r))if(Ve(n)<e)throw new B(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], expected ${e} elements`)}var Gv=4;function Rt(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";K(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:ne(s)})}function wo(t,e){return e+1+t}function Vn(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(wo(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function Wh(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:c=s}=e,u="embedding_backward";K(u,{width:i},4),S(u,wo(c,a),{tokenRows:r}),S(u,s*i,{dx:o}),S(u,a*i,{dTable:n}),t.add({kernel:u,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*Gv*t.registry.lanes))]})}var yt=5,Vv=5,Ma=2*yt+Vv,Nt={wide:256,narrow:257,country:258,region:259,as:260,distance:261,misplaced:262},Wv=[[2,1],[0,2],[4,3]],[Yv,Jv]=[20,5];function Jh(t,{position:e,country:r,region:o,asNumber:n}){return{position:e,steps:[e&&Lt(t,Nt.wide,...Yh(e,Yv)),e&&Lt(t,Nt.narrow,...Yh(e,Jv)),r>0?Lt(t,Nt.country,r):void 0,o>0?Lt(t,Nt.region,r,o):void 0,n>0?Lt(t,Nt.as,n):void 0]}}function Pa(t,e,r){let o=Wv.map(([s,i])=>{let[a,c]=[e.steps[s],r.steps[s]];return a&&c&&Zn(a,c,i)});if(!e.position||!r.position)return[...o,void 0,void 0];let n=4*Math.log2(e0(e.position,r.position)+Xv);return[...o,...[0,.5].map((s,i)=>Lt(t,Nt.distance,i,Math.floor(n+s)))]}function Ia(t,e){return Lt(t,Nt.misplaced,e.hash1,e.hash2)}var Xv=50,Qv=6371;function e0(t,e){let r=i=>i*Math.PI/180,[o,n]=[e.latitude-t.latitude,e.longitude-t.longitude].map(i=>Math.sin(r(i)/2)**2),s=o+Math.cos(r(t.latitude))*Math.cos(r(e.latitude))*n;return 2*Qv*Math.asin(Math.min(1,Math.sqrt(s)))}function Yh({latitude:t,longitude:e},r){return[Math.round((t+90)/r),Math.round((e+180)/r)%(360/r)]}function Lt(t,e,...r){let o=re(t+e),n=re(o^Bn);for(let s of r)o=re(Math.imul(o,257)+s+1),n=re(Math.imul(n,65599)+s+1);return{hash1:o,hash2:n}}var Ra=9;function we({places:t}){return Ra+(t?Ma:0)}var Xh=new WeakMap,Qh={position:void 0,country:0,region:0,asNumber:0},t0=2**15,r0=3,bt=class{config;#e;#t;#r;#o;#n;#s;coordinates;constructor(e){this.config=e,this.#s=new Map;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new qn(n));let s=r?.rows??0;r&&(this.#e=new Mt(0,s)),o&&(this.#t=new Mt(s,o.rows),o.history&&(this.#r=new zn(o.rows)))}load(e){this.#e?.load(D(e,Te)),this.#t?.load(D(e,Te)),this.#r?.load(D(e,lr)),this.coordinates?.load(e),this.config.places&&this.usePlaces(D(e,io))}usePlaces(e){if(this.#s.clear(),e===this.#o)return;this.#o=e;let r=Xh.get(e);r||Xh.set(e,r=Ln.decode(e,io)),this.#n=r}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(Te,r),this.#r&&e.set(lr,this.#r.save()),this.coordinates?.save(e),this.config.places&&this.#o&&e.set(io,this.#o)}claim(e,r){this.#u(e,r);for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==$&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#d(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??$)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#d(e);return this.#e?.row(o,n,r)??$}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#d(e);return this.coordinates?.node(o,n,r)??$}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#f(this.#d(e),this.#d(r));return this.#t?.row(n,s,o)??$}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return $;let s=this.#a(e,n.dropShare);return r&&ro(e.hash2,o,s)&&(e.isDropped=!0,e.isAllDropped=e.numBytes===1),e.isDropped?$:this.#e.row(e.hash1,e.hash2)}#a({length:e,numBytes:r},o){let{places:n}=this.config;return n?n.dropShare*(r===1?yt+1:1)/(yt+e):1-(1-o)**(1/e)}#i(e,r,{isTraining:o,context:n}){if(!this.#n||!this.#e)return[];let s=this.#e,i=[e,r].map(c=>this.#c(c,c.number,c.length)),a=new Array(Ma).fill($);return[e,r].forEach(({isAllDropped:c,hash2:u},l)=>{let f=o&&c?re(~u^n)%(yt+1):yt;for(let d=0;d<f;d++){let p=i[l].steps[d];p&&(a[l*yt+d]=s.row(p.hash1,p.hash2))}}),Pa(this.#l,i[0],i[1]).forEach((c,u)=>{let l=u<r0&&c&&o&&ro(c.hash2,n,this.config.places?.dropShare??0);c&&!l&&(a[2*yt+u]=s.row(c.hash1,c.hash2))}),a}#c(e,r,o){let n=this.#s.get(e.hash1);if(n?.hash2===e.hash2)return n.path;let s=this.#n?.locate(r,o)??Qh,i=Ia(this.#l,e),a=this.#e?.row(i.hash1,i.hash2)!==$,c=Jh(this.#l,a?{...Qh,asNumber:s.asNumber}:s);return this.#s.size===t0&&this.#s.clear(),this.#s.set(e.hash1,{hash2:e.hash2,path:c}),c}#u(e,r){if(!this.#n)return;let o=[e,r].map(s=>this.#c(this.#d(s),Dn(s),s.length===4?4:16)),n=[...o.flatMap(({steps:s})=>s),...Pa(this.#l,o[0],o[1])];for(let s of n)s&&this.#e?.row(s.hash1,s.hash2,!0)}placeOf(e){return this.#n?.locate(Dn(e),e.length===4?4:16)}isMisplaced(e,{claims:r=!1}={}){let o=Ia(this.#l,this.#d(e)),n=this.#n&&this.#e?.row(o.hash1,o.hash2,r);return r&&this.#s.clear(),n!==void 0&&n!==$}pairOf(e,r,o){let{isTraining:n,context:s}=o,{hash1:i,hash2:a}=this.#f(e,r),c=this.config.pairVectors?.dropShare??0,[u,l]=[i,a].map(h=>n&&ro(h,s,c)),d=e.isDropped||r.isDropped||u||l?$:this.#t?.row(i,a)??$,p=this.#i(e,r,o);return{hash1:i,hash2:a,source:e,destination:r,row:d,isUnknown:u,placeRows:p}}historyOf({hash1:e,row:r,isUnknown:o},{rttHistory:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,c=s??i.rttsOf(e);return s||r===$?Gp(c,a):this.#r.rttHistory(r-this.#t.firstRow,{timeS:a,newer:c})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[c,u]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(c,u);let l=ro(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(c,u,{isTraining:n,hidden:f})}begin(e){return mh(this.#l,e)}get#l(){return this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0}#f(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return Zn(e,r,s)}#d(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)Un(o,n),r(o);return o}};var o0={isTraining:!1,context:0},n0=3,s0=Ra,vt=class t{#e;#t;#r;#o;#n;#s;#a=!1;#i;#c=new $n;constructor(e){this.#e=e,this.#t=we(e.config)}clone(){let e=new t(this.#e);return e.#n=this.#n&&{...this.#n},e.#r=this.#r===this.#n?e.#n:this.#r,e.#o=this.#o===this.#n?e.#n:this.#o,e.#s=this.#s,e.#a=this.#a,e.#i=this.#i,e.#c=this.#c.clone(),e}read(e,r,o,n=o0){r.fill($,o,o+this.#t);let s=e>=11&&e<267;if(n.rttHistory===void 0&&this.#c.read(e),s&&this.#a&&(this.#d(r,o),this.#i&&this.#f(r,o,kh(this.#i,e-11))),this.#a=e===8,s){this.#n&&(r[o]=this.#l(this.#n,e-11,n));return}switch(this.#n=void 0,e){case 0:this.#c.end(this.#s?.hash1),this.#r=this.#o=this.#s=void 0;break;case 1:case 2:this.#n=this.#r=this.#u(e===1?4:16);break;case 3:case 4:this.#n=this.#o=this.#u(e===3?4:16);break;case 8:this.#i=this.#s&&(this.#e.historyOf(this.#s,n,this.#c)??this.#e.estimateOf(this.#s,n)),this.#d(r,o),this.#i&&this.#f(r,o,Sh(this.#i))}}#u(e){return this.#s=void 0,this.#e.begin(e)}#l(e,r,o){Un(e,r);let n=this.#e.prefixRow(e,o);n!==$&&(e.row=n),e.isWhole&&(this.#n=void 0);let[s,i]=[this.#r,this.#o];return s?.isWhole&&i?.isWhole&&(this.#s=this.#e.pairOf(s,i,o)),n}#f(e,r,o){o.forEach((n,s)=>e[r+n0+s]=this.#e.selectedRow(n))}#d(e,r){let[o,n]=[this.#r,this.#o];e[r+2]=this.#s?.row??$,e[r+2]===$&&((!this.#i||"isOfBoth"in this.#i)&&e.set(this.#s?.placeRows??[],r+s0),!(this.#i&&!i0(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row)))}};function i0(t){return"isOfBoth"in t&&!t.isOfBoth}function Dt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(be(t),o*r*(t.places?2:1))}function _o({places:t},{batchSize:e,sequenceLength:r}){return e*(t?4:2)*r}function xo({tokens:t,segmentStart:e,histories:r},o,{sequenceLength:n,isTraining:s}){let i=we(o.config),a=new Uint32Array(t.length*i),c=new vt(o),u=0;for(let l=0;l<t.length;l++){l%n===e[l]&&(c=new vt(o),s&&(u=a0(t,e,l,n)));let f=r&&t[l]===8?qp(r,l*Sn):void 0,d=r||s?f??null:void 0;c.read(t[l],a,l*i,{isTraining:s,context:u,rttHistory:d})}return a}function a0(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=re(s+t[i]);return s}var Wn=class{numSlots;numUses;perToken;isFixed;#e;constructor(e,r,o,n=!1){this.numSlots=e,this.numUses=r,this.perToken=o,this.isFixed=n,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==$&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===$?$:this.#e.get(o)??$);return Vn(r,this.numSlots,{perRow:this.perToken,numUses:this.numUses})}};function em(t,e,r){return{tokens:Ct(t.tokens,e,r),targets:Ct(t.targets,e,r),lossMask:Ct(t.lossMask,e,r),segmentStart:Ct(t.segmentStart,e,r),...t.histories?{histories:Ct(t.histories,e,r)}:{}}}function Ct(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function tm({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var c0=64*8*4;function Bt(t){return ne(Math.ceil(t/c0))}function rm(t,e){let{x:r,y:o,length:n}=e,s="copy";K(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:Bt(n)})}var yo=8;function om(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function nm(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:c}=e,u="adamw";K(u,{length:c},4),S(u,c,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(u,yo,{hyper:i}),S(u,1,{clip:a}),t.add({kernel:u,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:c},grid:Bt(c)})}function sm(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:c}=e,u="add_rows";K(u,{width:c},4),S(u,s*i,{indexes:r}),S(u,a*c,{table:o}),S(u,s*c,{x:n}),t.add({kernel:u,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:c,table_rows:a},grid:ne(s)})}function im(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:c,clip:u,slots:l,width:f}=e,d="adamw_rows";K(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,yo,{hyper:c}),S(d,1,{clip:u}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:c,clip:u,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:ne(l)})}function am(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";K(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:ne(s)})}var cm=2**48;function um(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function lm(t,e=1/0){for(let[r,o]of t){let n=um(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, expected ${s}`}}function fm(t,e){let r=um(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new y(`Cannot use the model: found ${n}, as when weights are too large for float32, expected finite numbers; use an earlier checkpoint or another run`)}var dm=[32,64,128],La={subgroup8:1024,tiled:2048};function pm(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,c=bo(t.registry.gpu.info);mm(`attention_forward_${c}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${c}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...Na(e,c)})}function hm(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:c,dq:u,dk:l,dv:f,delta:d}=e,p=bo(t.registry.gpu.info);mm(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:u,dk:l,dv:f},{logSumExp:a,delta:d},c);let h={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:c,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...h,out:s,dq:u},...Na(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...h,dk:l,dv:f},...Na(e,p)})}function bo(t){return t.subgroupSize===8?"subgroup8":"tiled"}function Ca(t,e){if(!dm.includes(e))throw new B(t,`headDim is ${e}, expected one of ${dm.join(", ")}`)}function Na({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/La[n]),r,t]}}function mm(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){Ca(t,n);let c=e*r;S(t,c,{segmentStart:a}),S(t,c*o,i),S(t,c*o*n,s)}var u0={relu2:0,gelu:1,silu:2},l0={kernel:"gemm_subgroup8",overrides:{},tile:32},Da={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},f0={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},d0=256,gm=16,wm=0;function _m(t,e){return t.subgroupSize===8?l0:!t.isSoftware&&e.m*e.n>=d0*128*128?f0:Da}var p0={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function h0(t,e){let{kernel:r}=_m(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:m0(e)}function m0({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=p0){let i=Math.ceil(t/Da.tile)*Math.ceil(e/Da.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function vo(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:c,c:u,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,{kernel:p,tile:h,overrides:g}=e.variant??_m(d,e);if(K(p,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new B(p,`a product of ${o} x ${n} cannot be symmetric`);S(p,i*o*s,{a}),S(p,i*s*n,{b:c}),S(p,i*o*n,{c:u});let{code:m,read:w,written:x,activation:T}=g0(l);for(let j of[w,x])if(j&&(S(p,i*o*n,{[j.label]:j}),j.buffer===u.buffer))throw new B(p,`${j.label} is in the buffer of c; to add to c use "accumulate"`);let I=typeof l=="string"&&i===1,k=e.splits??(I&&!e.variant?h0(d,e):1),R=Math.ceil(s/k/gm)*gm;if(k>1&&!(I&&p==="gemm_tiled"&&R*(k-1)<s))throw new B(p,`cannot divide k into ${k} splits here`);let L=k>1?t.scratch(k*o*n):u,V=e.label??`gemm ${r}`;t.add({kernel:p,label:V,overrides:{...g,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:T},bindings:{a,b:c,d:w??{...a,dtype:u.dtype},c:L,e:x??{...t.registry.unusedOutput,dtype:u.dtype}},params:{m:o,n,k:s,epilogue:k>1?wm:m,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...p==="gemm_tiled"?{splits:k,split_k:R}:{}},grid:[Math.ceil(n/h),Math.ceil(o/h),i*k],flops:i*(f?o+1:2*o)*n*s}),k!==1&&t.add({kernel:"sum_splits",label:`${V}, sum of splits`,bindings:{partials:L,c:u},params:{length:o*n,splits:k,accumulate:+(l==="accumulate")},grid:Bt(o*n)})}function g0(t){if(t==="store")return{code:wm,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=u0[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var w0=64,_0=1e4,xm=new WeakMap;function Ba(t,e){let{x:r,y:o,scale:n,rotation:s=Yn(t,e)}=e,i="qk_norm_rope_forward";ym(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...bm(e)})}function Ua(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";ym(i,e,{x:r,dy:n,dx:s},o);let a=Yn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...bm(e)})}function ym(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){K(t,{headDim:o},8),K(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function bm({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:ne(Math.ceil(t*e/w0))}}function Yn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=xm.get(o)??new Map;xm.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=x0(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function x0(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*_0**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var y0=4;function Jn(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";K(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:ne(s)})}function vm(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:c}=e,u="rms_norm_backward";K(u,{width:a},4),S(u,i*a,{x:r,dy:n,dx:s}),S(u,i,{scale:o}),t.add({kernel:u,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(c)},grid:ne(Math.ceil(i/y0))})}function Sm(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";Em(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...Am(e)})}function km(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";Em(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...Am(e)})}function Xn(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Em(t,{rows:e,numHeads:r,headDim:o},n,s){K(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function Am({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:Bt(t*o*4)}}function Ut(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:c="store"}=s,u=D(r.operands,o),[l,f]=u.shape,d=e.batchSize*e.sequenceLength;vo(t,{kind:"NT",m:d,n:l,k:f,a:i,b:u,c:a,epilogue:c,label:n})}function Tm(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=D(r,o);s!==n&&rm(t,{x:n,y:s,length:Ve(n)})}}function pr(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:c,operands:u}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=D(u,"wte.weight");Rt(t,{tokens:c.tokens,table:d,x:i[0].x,rows:l,width:f}),c.embeddingRows&&sm(t,{indexes:c.embeddingRows,table:D(u,"address_embed.weight"),x:i[0].x,rows:l,rowsPerToken:we(r),tableRows:be(r),width:f});for(let h=0;h<r.numLayers;h++){let g=h===r.numLayers-1;$m(t,e,h);let m=s&&g?b0(t,e,s):e;Om(t,m,h),Pm(t,m,h),v0(t,m,{layer:h,out:g?a.xLast:i[h+1].x})}let p=s?.rows??l;Jn(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function b0(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,c=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let u=(f,d,p)=>Rt(t,{tokens:a,table:f,x:d,rows:i,width:p});u(c.x,r.x,o.width),u(c.xNorm,r.xNorm,o.width),u(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...c,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function Za(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function Qn(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function zm(t,e,r){$m(t,e,r),Om(t,e,r),Pm(t,e,r)}function $m(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],c=n.batchSize*n.sequenceLength;Jn(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:c,width:o.width});for(let f of["k","v"])Mm(t,e,{layer:r,part:f});let u={...Qn(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;Ba(t,{x:a.k,y:l,scale:a.kScale,...u}),a.kUnshifted&&s.inputs.previous&&Sm(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:c,numHeads:o.numHeads,headDim:o.headDim})}function Om(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];Mm(t,e,{layer:r,part:"q"});let c={...Qn(o,n),...i?{rotation:i}:{}};Ba(t,{x:a.q,y:a.qRotated,scale:a.qScale,...c}),e.addAttention?e.addAttention(t,r):pm(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...Za(o,n)}),Ut(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function Mm(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;Ut(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function Pm(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:c,xMiddleScale:u,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Jn(t,{x:a,y:c,scale:u,rows:d,width:o}),Ut(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:c,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function v0(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Ut(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}var S0={initial:2**15,min:1,max:2**24,growthSteps:500};function Im({initial:t}=S0){return Float32Array.of(t,0)}var k0=4096,E0=256,qa="reduce_partials";function Nm(t){return Math.min(E0,Math.ceil(t/k0))}function Lm(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(qa,o,{x:r});let i=Nm(o);if(i===1)return Rm(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);Cm(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),Rm(t,{x:a,length:i,out:n,accumulate:s})}function Rm(t,e){S(qa,1,{out:e.out}),Cm(t,{label:"sum",isSum:!0,...e})}function Cm(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:c=1,count:u=1,accumulate:l=!1}=e;t.add({kernel:qa,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:c,accumulate:Number(l)},grid:[...ne(c),u]})}function Dm(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:c,ordinal:u,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:h,softcap:g}=e,m="cross_entropy";Bm(m,e),S(m,d,{targets:o,lossMask:n,losses:s}),S(m,d*h,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(m,1,{weight:i,...c?{lossScale:c}:{}}),t.add({kernel:m,overrides:{SOFTCAP:+(g!==null),GRADIENT:+(a!==void 0),SCALED:+(c!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:c??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:h,softcap:g??0,first_byte:u?.firstByte??0,ordinal_2:u?.weights[0]??0,ordinal_3:u?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:ne(d)})}function ja(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:c}=e,u="log_probabilities";Bm(u,e),S(u,a,{logits:r}),S(u,s,{rowIndex:o}),S(u,s*i,{out:n}),t.add({kernel:u,overrides:{SOFTCAP:+(c!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:c??0},grid:ne(s)})}function Bm(t,{vocabSize:e,stride:r,softcap:o}){if(K(t,{stride:r},4),K(t,{vocabSize:e},1),e>r)throw new B(t,`vocabSize is ${e}, expected at most the stride ${r}`);if(o!==null&&!(o>0))throw new B(t,`softcap is ${o}, expected a positive number or null`)}var A0={};function hr(t,e){return(r,o,n)=>t(e+r,o,n)}function So(t){return Fa(t).reduce((e,{sizeBytes:r})=>e+r,0)}function mr(t){return Fa(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function Fa(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:go(o,n)}),A0)),e}function Zt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function es(t,e,r){let o=Zt(t.device),n=Fa(e).find(({sizeBytes:i})=>i>o);if(n)throw Um(`${n.label} takes ${ct(n.sizeBytes)}`,`${ct(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,c)=>t.tensor(i,a,c));if(await t.device.popErrorScope()){let i=`${r.what} takes ${ct(So(e))}`;throw Um(i,"what the GPU has free",r)}return s}function ct(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function Um(t,e,{what:r,remedy:o}){return new y(`Cannot allocate ${r}: ${t}, expected at most ${e}; ${o}`)}function Zm(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,c=[o,n],u=be(t)>0,l=Dt(t,e),f=wo(_o(t,e),l),d=wo(o*n,G(t));return{tokens:r("tokens",c),targets:r("targets",c),lossMask:r("lossMask",c),segmentStart:r("segmentStart",c),previous:t.keyShift?r("previous",c):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,embeddingRows:u?r("rows of tokens",[o,n,we(t)]):void 0,rowPlaces:u&&s?r("tokens of slots",[f]):void 0,slotRows:u&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function qm(t,e,r){let{extent:o,batch:n,weight:s}=r,i=G(r.config),{batchSize:a,sequenceLength:c}=o,u={...n,lossMask:tm(n,c)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(u[l]);b(f.length===a*c,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&b(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Xn(n.segmentStart,c)),e.tokenRows&&t.write(e.tokenRows,Vn(n.tokens,i)),e.embeddingRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.embeddingRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function qt(t){return Math.ceil(G(t)/4)*4}function Ha(t,e,r){let o=[],n=(u,l,f)=>{let d=r(u,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=T0(t,e,n),a=jt(t,n),{dtype:c}=e;return{parameters:a,operands:Hm(t,{parameters:a,dtype:c},n),gradients:e.training?Fm(t,e,hr(n,"d ")):new Map,inputs:Zm(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],c),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,qt(t)]),losses:n("losses",[s])},backward:e.training?z0(t,{rows:s,dtype:c},n):void 0,lossSum:n("lossSum",[1]),all:o}}function Ka(t){return new Map([...Fn(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?qt(t):r,o]]))}function jt(t,e){return new Map([...Ka(t)].map(([r,o])=>[r,e(r,o)]))}function Fm(t,e,r){let o=()=>["address_embed.weight",r("address_embed.weight",[Dt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([...Ka(t)].map(([n,s])=>n==="address_embed.weight"?o():[n,r(n,s)]))}function Hm(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of Ka(t))s!=="wte.weight"&&s!=="address_embed.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function T0(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=jm(t,{rows:o,training:n,dtype:s},hr(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,c)=>{if(c===0||!n)return i;let u=hr(r,`layer ${c} `);return e.checkpointActivations?{...i,x:u("x",[o,t.width])}:{...jm(t,{rows:o,training:n,dtype:s},u),kUnshifted:i.kUnshifted}})}function jm(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{...Ga(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function Ga(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,c=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,c],o),k:n("k",[e,c],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,c],o),attention:n("attention",[e,c],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function z0(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,qt(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}function Va(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:c,rttByteWeight:u}=r,l=r.batchSize*r.sequenceLength;Ut(t,{extent:r,tensors:o},{...Km,x:s.xLastNorm,y:s.logits}),Dm(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:u,rows:l,...Wa(e),...a?{dLogits:a.dLogits,teacher:n}:{},...c?{ordinal:{firstByte:11,weights:c}}:{}})}function Wa(t){return{vocabSize:G(t),stride:qt(t),softcap:t.softcap}}var Km={name:"lm_head.weight",label:"lm_head"};function Gm(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:c,logits:u,rowIndex:l,logProbabilities:f}=s;Rt(t,{tokens:a,table:o,x:c,rows:i,width:r.width}),Ut(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...Km,x:c,y:u}),ja(t,{logits:u,rowIndex:l,out:f,numRows:i,...Wa(r)})}async function Vm(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,G(e)]),c=new ze(t,"log-probabilities");ja(c,{logits:r,rowIndex:i,out:a,numRows:s,...Wa(e)}),c.run();let[u]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return u}function $0(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function O0(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function Wm(t,e,r){let o=Zt(t.device),n=s=>mr(i=>Ha(e,{...r,batchSize:s},i))<=o;return await es(t,s=>Ha(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":O0($0(r.batchSize,n))})}function ts(t,e,{parameters:r,weights:o}){let n=Hn(e);for(let s of o.keys())if(!n.has(s))throw Ya(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let c=o.get(s);if(!c)throw Ya(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(c.length!==i*a)throw Ya(`${c.length} values of ${s}`,`a shape of [${i}, ${a}]`);let u=r.get(s);u&&t.write(u,c)}}async function Ym(t,e,r){let o=await t.read(...r.values()),n=G(e);return new Map([...r].map(([s,i],a)=>{let u=s.startsWith("lm_head.weight")?n*e.width:Ve(i);return[s,o[a].slice(0,u)]}))}function Ya(t,e){return new y(`Cannot load the weights: found ${t}, expected ${e}; use the configuration they were trained with`)}function M0(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:c}=n;b(s,"a model without training has no backward pass");let u=o.batchSize*o.sequenceLength,l=r.width;ko(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),Ja(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&zm(t,e,d),P0(t,e,{layer:d,backward:s}),I0(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:c.tokenRows,vocabSize:G(r),numUses:u},{name:"address_embed.weight",tokenRows:c.rowPlaces,vocabSize:Dt(r,o),numUses:_o(r,o)}];for(let{name:d,tokenRows:p,...h}of f){if(!p)continue;let g=D(a,d);Wh(t,{tokenRows:p,dx:s.dx,dTable:g,rows:u,width:l,...h})}}function ko(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:c="store"}=o,u=D(r.operands,n),[l,f]=u.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");vo(t,{kind:"NN",m:d,n:f,k:l,a:s,b:u,c:a,epilogue:c,label:`${p} dx`});let h=r.gradients.get(n);h&&vo(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:h,epilogue:"accumulate",label:`${p} dW`})}function P0(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:c}=e.tensors.layers[r];b(a,"a model without training keeps no argument of the activation"),ko(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:c,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),ko(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),Ja(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function I0(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];ko(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),hm(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...Za(n,s)});let c=Qn(n,s),{dqRotated:u,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:h,dNorm:g}=o,{previous:m}=i.inputs;m&&km(t,{dy:l,previous:m,dx:f,...c}),Ua(t,{x:a.q,scale:a.qScale,dy:u,dx:d,...c}),Ua(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...c});for(let[w,x]of[["q",d],["k",p],["v",h]])ko(t,e,{name:`blocks.${r}.attn.${w}_proj.weight`,dy:x,x:a.xNorm,dx:g,epilogue:w==="q"?"store":"accumulate"});Ja(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function Ja(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;vm(t,{...s,dy:o,dx:n,rows:i,width:e})}var rs=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#a;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.embeddingRows&&(this.#s=new bt(r));let i=o.freeRows!==void 0;this.#a=new Wn(Dt(r,o),_o(r,o),we(r),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,Im()),this.#r=new ze(e,"operand copies"),Tm(this.#r,n),this.#o=new ze(e,"evaluation"),pr(this.#o,this.#t),Va(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#u():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;b(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await Wm(e.gpu,r,i),c=new t(e,r,i,a,n);return await e.ready(),c}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){ts(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await Ym(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#a.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){b(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&xo(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#a.claim(a),this.#l(em(e,i,o),r,{isTraining:!0,ofTokens:a&&Ct(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="address_embed.weight"?this.#a.size:D(this.gradients,e).shape[0]}async profile(e,r){return b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#i(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#i(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(b(r.every(s=>s<this.#c),"a position is outside the batch"),r.length===0)return new Float32Array;this.#i(e);let{config:o,tensors:n}=this.#t;return await Vm(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#i(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#c(){return this.extent.batchSize*this.extent.sequenceLength}#u(){let e=new ze(this.registry,"forward and backward");pr(e,this.#t),Va(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return Lm(e,{x:r.losses,length:this.#c,out:o,accumulate:!0}),M0(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);qm(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??xo(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#a.places(s);return{ofTokens:s,places:i,ofSlots:this.#a.rows}}};var Xa=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[yo]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=Ve(n);nm(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,c=om({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,c)}moments(e){return{expAvg:D(this.state,`${e}.exp_avg`),expAvgSq:D(this.state,`${e}.exp_avg_sq`)}}},os=class extends Xa{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){b(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;im(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:D(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function Jm(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,c=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*c)}var R0=128,N0=32;function L0(t,e){let r=Math.min(e,R0);return{sequenceLength:r,batchSize:Math.min(N0,Xm(t,r).length)}}function C0(t,e,{batchSize:r,sequenceLength:o}){let n=Xm(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=D0(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:xo(a,e,{sequenceLength:o,isTraining:!1})})}return s}function Xm(t,e){let r=[],o=0;for(let n of t){let s=Ke(n,null);if(s>e)throw new y(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function D0(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let c of t[s]??[]){let u=new Ge(n.tokens,a).write(c,it);n.segmentStart.fill(a-i,a,a+u),n.targets.set(n.tokens.subarray(a+1,a+u),a),n.lossMask.fill(1,a+u-3,a+u-1),a+=u}n.segmentStart.fill(a-i,a,i+r)}return n}var B0={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},U0={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},Qm=3,vO=7*32*Qm,Z0=1e30;async function eg(t,e,r,o){let n=[];try{return await q0(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function q0(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,c=r.free.length,u=L0(r.measurements,a),l=new Qa(r,e),f=j0(r,u,l),d=await rs.create(t,l.config(),{...u,training:!0,freeRows:c});o(d),d.load(l.weights());let p=D(d.parameters,ve),h=D(d.gradients,ve),g=new os(s,{...B0,learningRate:n.learningRate},[{name:ve,parameter:p,gradient:h}],d.slotRows),m=s.tensorFrom("anchors",[c,i],l.starts),w=s.tensorFrom("largest drifts",[c],Float32Array.from(r.free,({isKnown:Q})=>Q?n.maxDrift:Z0)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:Q}of[m,w,x,...g.state.values()])o(Q);let T=new ze(t,"update of rows");g.add(T,x),am(T,{table:p,anchors:m,limits:w,rows:c,width:i}),await t.ready();let I=Math.ceil(f[0].length/Qm),k=(Q,lt)=>Q.filter((Vt,kr)=>kr%I===lt%I),R=Q=>{let lt=Q.reduce((Vt,{batch:kr})=>Vt+kr.lossMask.reduce((U_,Z_)=>U_+Z_,0)/2,0);d.zeroGradients();for(let{batch:Vt,rows:kr}of Q)d.accumulate(Vt,1/(2*lt),kr);return lt},L=async()=>{let Q=R(k(f[0],0));return(await s.read(d.lossSum))[0][0]/Q},V=await L();for(let Q=0;Q<n.steps;Q++){n.signal?.throwIfAborted();let lt=I===1?Q:Q+Math.floor(Q/I);R(k(f[lt%f.length],Q));let Vt=Jm(Q,n.steps,U0);g.prepare(Q,{learningRate:Vt,weightDecay:0}),T.run(),await s.finish(),n.onProgress?.(Q+1)}let j=await L(),Oe=(await s.read(p))[0].slice(0,c*i),Qe=lm(new Map([[ve,Oe]]),cm);if(Qe)throw new y(`Cannot adapt: after the fit ${Qe}; lower --learning-rate`);return{values:Oe,lossBefore:V,lossAfter:j}}var Qa=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===$)return $;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(ve)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[c,u]of this.#e)n.set(o.subarray(c*e,(c+1)*e),u*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(ve,n).set(Te,s),a=Hn(this.config());return new Map([...i].filter(([c])=>a.has(c)))}};function j0(t,e,r){let{measurements:o,addressEmbeddings:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:c})=>c!==null)?[0,1]:[0]).map(c=>{let u=o.map((l,f)=>f%2===c?l:{...l,timeS:null});return C0(u,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?$:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(c=>c.map(({batch:u,withoutPairs:l})=>({batch:u,rows:l})))]}var F0=50;async function tg(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let c=[...H0(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasCoordinates(d)),u=new Set(c.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:h}]of c.entries()){performance.now()-f>F0&&(await new Promise(w=>setTimeout(w,0)),f=performance.now()),n?.throwIfAborted();let g=[...h.values()].map(({other:w,ms:x})=>({node:t.nodeOf(w),rttMs:K0(x)})),m=i.locate(g,u);m&&l.push({address:p,place:m}),s?.(d+1,c.length)}for(let{address:d,place:p}of l){let h=t.claimNode(d);h!==$&&a.set(h,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function H0(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let c=te(i),u=te(a);if(s===null||c===u||!e.has(c))continue;let{rttsMs:l}=r.getOrInsertComputed(c,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(u,()=>({other:a,ms:[]})).ms.push(An(s))}return r.values()}function K0(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function rg(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[te(r),r]))}function ns({source:t,destination:e},r){return r.has(te(t))||r.has(te(e))}function og(t,e,r=new Set){let o=ec(t);return[...rg(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===$||r.has(s)}).map(([n])=>n)}async function ng(t,e,r){let{addresses:o,adapted:n,...s}=r,i=ec(t),a=ec(t),c=new Map,u=[],l=[],f=rg(e),d=W0(t),p=[...f.values()].map(m=>({address:m,row:i.rowOfAddress(m)})).filter(({row:m})=>m!==$),h=(m,w,x)=>{m===$||c.has(m)||c.set(m,{row:m,isKnown:!w&&!n.rows.has(m),start:x??d(m)})};for(let[m,w]of f){if(!o.has(m))continue;let x=i.rowOfAddress(w)===$,T=a.rowOfAddress(w,{claims:!0});h(T,x,x?G0(w,p,d):void 0),(T===$?u:l).push(m)}let g=e.filter(m=>ns(m,o));for(let{source:m,destination:w}of g){let x=i.rowOfPair(m,w)===$;h(a.rowOfPair(m,w,{claims:!0}),x)}return{addressEmbeddings:a,free:[...c.values()],measurements:g,addresses:l,withoutRow:u,located:await tg(a,g,{...s,addresses:o,adaptedNodes:n.nodes})}}function G0(t,e,r){let o=e.filter(c=>c.address.length===t.length),n=o.map(c=>V0(c.address,t)),s=n.reduce((c,u)=>Math.max(c,u),0),i=o.filter((c,u)=>n[u]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:c}of i)r(c).forEach((u,l)=>a[l]+=u);return Float32Array.from(a,c=>c/i.length)}function V0(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function ec({config:t,weights:e}){let r=new bt(t);return r.load(e),r}function W0({config:{width:t},weights:e}){let r=D(e,ve);return o=>r.slice(o*t,(o+1)*t)}var Y0={steps:20,learningRate:.1,maxDrift:1};async function ig(t,e,r,o={}){J0(e);let n=r.filter(({rttCode:m})=>m!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=og(e,n,s.rows),onLocated:a,...c}=o,u=await ng(e,n,{addresses:new Set(i),adapted:s,signal:c.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:u.addresses,withoutRow:u.withoutRow,numFailed:l};if(u.free.length===0){let m=sg(e,u,new Float32Array);return{...f,update:m,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:h}=await eg(t,e,u,{...Y0,...c}),g=sg(e,u,d);return{...f,update:g,numMeasurements:u.measurements.length,lossBefore:p,lossAfter:h}}function sg({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:c,rttCode:u,timeS:l}of r.measurements)u!==null&&r.addressEmbeddings.remember(r.addressEmbeddings.rowOfPair(a,c),{rttCode:u,timeS:l});let s=D(e,ve).slice();r.free.forEach(({row:a},c)=>s.set(o.subarray(n*c,n*(c+1)),n*a));let i=new Map(e).set(ve,s);return r.addressEmbeddings.save(i),Hh(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function J0({config:t,weights:e}){if(!(be(t)>0&&e.has(Te)))throw new y(`Cannot adapt the model: it has no address embeddings, expected one with them; train one with --set 'model.prefixVectors={"rows":65536}'`)}var ss=class{config;weights;rows;nodes;adaptation;#e;#t;#r;constructor(e,r,{adapted:o,trainingData:n}={}){this.config=e,this.weights=r,this.#r=new WeakSet,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes),this.#e=n,this.adaptation=n?.adaptation}get trainingData(){return this.#e&&{...this.#e,adaptation:this.adaptation}}async fit(e,r,o){let n=await ig(e,this,r,{...o,adapted:this});this.weights=Fh(this.config,this.weights,n.update);for(let s of n.update.rows)this.rows.add(s);for(let s of n.update.coordinates.nodes)this.nodes.add(s);return this.#o(r,n),n}#o(e,{addresses:r,withoutRow:o}){let[n,s]=[new Set(r),new Set(o)],i=this.#t??=this.adaptation?mo.of(this.adaptation):new mo;for(let c of e){let{source:u,destination:l,rttCode:f,timeS:d}=c;f===null||this.#r.has(c)||!ns(c,n)||ns(c,s)||(this.#r.add(c),i.add(i.id(u),i.id(l),d))}let a=i.summary({origin:"",isSynthetic:null});a.measurements>0&&(this.adaptation={summary:a,known:i.table()})}};async function X0(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var[ag,Q0]=[2**16,2**24],eS=2**26,as=class{make;drop;#e;#t;constructor(e,r){this.make=e,this.drop=r,this.#e=new Map,this.#t=0}take(e){let r=e<ag||e>Q0?e:2**Math.ceil(Math.log2(e)),o=this.#e.get(r)?.pop();return o!==void 0&&(this.#t-=r),o??this.make(r)}give(e,r){if(r<ag||this.#t+r>eS)return this.drop(e);this.#t+=r,this.#e.set(r,[...this.#e.get(r)??[],e])}},tS=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],cg=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,is=new Set;globalThis.addEventListener("unload",()=>Eo.blockUntilIdle());var Eo=class t{device;info;#e;#t;#r;#o;#n;#s;constructor(e,r){this.device=e,this.info=r,this.#r=0,this.#o=new WeakRef(this),this.#n=new as(o=>this.device.createBuffer({label:"readback",size:o,usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST}),o=>o.destroy()),this.#s=new as(o=>new ArrayBuffer(o),()=>{}),is.add(this.#o),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new y("Cannot use WebGPU: no adapter was found, expected a GPU or software driver; run sh setup.sh to install one");if(rS(r))throw new y(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), expected a Vulkan driver; run sh setup.sh to install one`);let o={};for(let d of tS)o[d]=r.limits[d];let n=e.subgroups??!0?await tc(r,o,["subgroups"])??await tc(r,o,[]):await tc(r,o,[]);if(!n)throw new y("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:c,subgroupMinSize:u,subgroupMaxSize:l}=i,f=a||i.device||`${c} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:c,subgroupSize:s&&u===l?u:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:cg.test(`${f} ${a} ${c}`)})}tensor(e,r,o="f32"){let n=go(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){b(r.byteLength<=It(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return await this.readAfter(()=>{},...e)}async readAfter(e,...r){return(await this.#i(r,e)).map((o,n)=>r[n].dtype==="f16"?Float32Array.from(new Float16Array(o.buffer,0,o.length/2)):new Float32Array(o.buffer,0,o.length/4))}array(e){return new Float32Array(this.#s.take(4*e),0,e)}recycle(...e){for(let{buffer:r}of e){let o=r.transfer();this.#s.give(o,o.byteLength)}}async readUint32(e){let[{buffer:r,length:o}]=await this.#i([e]);return new Uint32Array(r,0,o/4)}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new y(`Cannot continue: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await X0(this.device.queue,r)}close(){this.#a(),is.delete(this.#o),this.device.destroy()}static blockUntilIdle(){for(let e of is){let r=e.deref();r?r.#a():is.delete(e)}}#a(){this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#i(e,r=()=>{}){let o=[],n=0;for(let i of e)o.push(n),n+=go(i.shape,i.dtype);let s=this.#n.take(n);try{let i=this.device.createCommandEncoder({label:"readback"});r(i),e.forEach((u,l)=>i.copyBufferToBuffer(u.buffer,u.offsetBytes,s,o[l],Math.ceil(It(u)/4)*4)),this.device.queue.submit([i.finish()]),await s.mapAsync(GPUMapMode.READ,0,n).catch(async u=>{throw await this.finish(),u});let a=s.getMappedRange(0,n),c=e.map((u,l)=>{let f=It(u),d=new Uint8Array(this.#s.take(f),0,f);return d.set(new Uint8Array(a,o[l],f)),d});return this.check(),s.unmap(),this.#n.give(s,s.size),c}catch(i){throw s.destroy(),i}}};function rS(t){return t.limits.maxBindingsPerBindGroup===4294967295&&cg.test(`${t.info.description} ${t.info.vendor}`)}async function tc(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var rc="//! ";function qe(t,e){return`${rc}${t}
${e}`}function oc(t){return t.replace(/\/\/(?!!).*$/gm,"")}function nc(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(rc)),i=n[s]?.slice(rc.length);return new B(t,o,r-1-s,i)}function ug(t,e){let r=oc(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,c,u])=>{if(i!=="0")throw new B(t,`binding ${u} is in group ${i}, expected 0`);let[l,f="read"]=c.split(",").map(d=>d.trim());return{name:u,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new B(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var lg=`// Prelude of the row kernels for adapters with subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES before this text. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var fg=`// Prelude of the row kernels for adapters without subgroups: a tree in workgroup memory, a fixed order.
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
`;var dg=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
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
`;var pg=`// The epilogue of a matrix product p: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
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
`;var hg=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
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
`;var mg=`// One step of AdamW for some rows of a table, the others do not change. For slot s < slot_rows[0], of row
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
`;var gg=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
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
`;var wg=`// The optimizer's treatment of this step, from the sum of squares of all gradients:
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
`;var _g=`// y = x, between tensors of different storage formats, such as f16 copies of weights.
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
`;var xg=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
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
`;var yg=`// x[r, :] = table[tokens[r], :]
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
`;var bg=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not.
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
`;var vg=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any adapter.
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
`;var Sg=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum in Muon's form.
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
`;var kg=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
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
`;var Eg=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
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
`;var Ag=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
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
`;var Tg=`// Limits the distance of a table's rows from their anchors: for row r < params.rows, d = table[r, :] - anchors[r, :];
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
`;var zg=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
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
`;var $g=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
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
`;var Og=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
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
`;var Mg=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows whose \`previous\` it is: itself or the next.
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
`;var Pg=`// y = x, except for the 2nd and the 4th quarter of each head, which come from another token:
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
`;var Ig=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
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
`;var Rg=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
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
`;var Ng=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
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
`;var Lg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var Cg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var Dg=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var Bg=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var Ug=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var Zg=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var qg=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var jg=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var Fg=`// The shared part of the attention kernels for any adapter; lib/tensor/kernels.ts appends it to each of them.
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
`;var Hg=`// The shared part of the attention kernels for subgroups of 8 lanes; lib/tensor/kernels.ts appends it to each of them.
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
`;var Kg=`// The shared part of the forward attention kernels for subgroups of 8 lanes, besides attention_slots_subgroup8.wgsl:
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
`;var Wg=qe("lanes_subgroup",lg),Yg=qe("lanes_workgroup",fg),Gg=qe("gemm_epilogue",pg),cs=qe("attention_slices_tiled",Fg),us=qe("attention_slots_subgroup8",Hg),Vg=qe("attention_softmax_subgroup8",Kg),Jg={cross_entropy:Ag,log_probabilities:zg,qk_norm_rope_backward:$g,qk_norm_rope_forward:Og,rms_norm_forward:dg,adamw:hg,adamw_rows:mg,add_rows:gg,clip_factor:wg,copy:_g,embedding_backward:xg,embedding_forward:yg,gemm_subgroup8:Gg+qe("gemm_subgroup8",bg),gemm_tiled:Gg+qe("gemm_tiled",vg),limit_rows:Tg,muon_momentum:Sg,muon_normalize:kg,muon_update:Eg,reduce_partials:Rg,shift_keys_backward:Mg,shift_keys_forward:Pg,sum_splits:Ig,rms_norm_backward:Ng,attention_backward_key_subgroup8:Lg+us,attention_backward_key_tiled:Cg+cs,attention_backward_query_subgroup8:Dg+us,attention_backward_query_tiled:Bg+cs,attention_decode_subgroup8:Ug+us+Vg,attention_decode_tiled:Zg+cs,attention_forward_subgroup8:qg+us+Vg,attention_forward_tiled:jg+cs};var US=`
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
`;function ZS(t,e,r){return r.length===0?e:r.reduce((n,s)=>Qg(t,qS(t,n,s),s),oc(e))+US}function qS(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new B(t,`${r} is not an array of vec4f and cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function Qg(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i] and cannot be f16`;throw nc(t,f,f.split(`
`).length,d)}let c=Xg(e,a+1,"]"),u=e.slice(i.index,c+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(c+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=c+1+f.length;s=Xg(e,p,";");let h=Qg(t,e.slice(p,s),r,o+e.slice(0,p)),g=d?`unpack_half(${u}) ${d} (${h})`:h;n+=`${u} = pack_half(${g})`}else s=c+1,n+=`unpack_half(${u})`}return n+e.slice(s)}function Xg(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var jS=64,ls=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...Jg,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??jS}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new B(e,"it is unknown; register it in lib/tensor/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=ug(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new B(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new B(e,"it needs subgroups, which the adapter does not have; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+qe(e,ZS(e,n,o));i.pushErrorScope("validation");let c=i.createShaderModule({label:e,code:a}),u=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[u]}),compute:{module:c,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(FS(e,c,f,a)),{name:e,interface:s,pipeline:l,layout:u}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?Wg:Yg}`:s}};async function FS(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw nc(t,o,s.lineNum,s.message);let i=await r;if(i)throw new B(t,i.message)}function ew(t,e){return La[bo(t)]/e}function tw(t,e){let r=[];for(let o of t)for(let n=o.firstRow;n<o.endRow;){let s=r.at(-1),i=s?.firstKey===o.firstKey&&s.endRow-s.firstRow<e,a=i?s:{...o,firstRow:n};i&&r.pop();let c=Math.min(a.firstRow+e,o.endRow);r.push({...a,endKey:Math.max(a.endKey,o.endKey),endRow:c}),n=c}return r}function rw(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,rowKeys:a,tiles:c,out:u}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:h}=e,g=bo(t.registry.gpu.info),m=`attention_decode_${g}`;Ca(m,p);let w=d*p;S(m,w,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(m,l*w,{q:r,out:u}),S(m,(1+f)*l,{rowKeys:a}),S(m,h*4,{tiles:c});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:m,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,row_keys:a,tiles:c,out:u},params:g==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[h,d]})}var HS=32;function St(t){let e=Math.max(HS,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function sc(t,e){return So(r=>fs(t,e,r))-So(r=>jt(t,r))}function ic(t,e,r){return sc(t,e)<=r.limitBytes&&mr(o=>fs(t,e,o))<=r.bufferBytes}function fs(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=St(e.maxRows),a=St(e.maxPromptTokens),c=Math.max(i,a),u=Ga(t,{rows:c,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>hr(r,`layer ${d} `));return{parameters:jt(t,r),inputs:{tokens:r("tokens",[c]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[c]):void 0,embeddingRows:be(t)>0?r("rows of tokens",[c,we(t)]):void 0},positions:r("positions",[c]),rotation:r("rotation",[c,s]),chosenRotation:r("chosen rotation",[c,s]),tiles:r("tiles",[i,4]),rowKeys:r("keys of rows",[1+e.maxSteps,i]),promptLayers:l.map(f=>({...u,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:u.x,xLastNorm:r("xLastNorm",[c,o]),xLastScale:r("xLastScale",[c])},chosen:{positions:r("chosen positions",[c]),picked:r("chosen hidden states",[c,o]),logits:r("chosen logits",[c,qt(t)]),rowIndex:r("rows",[c]),logProbabilities:r("log-probabilities",[c,G(t)])}}}function ow(t,e){let{tensors:r,numWanted:o}=e,n=sw(t,e,r.promptLayers),s=o===void 0?{}:{wanted:KS(e,o)};pr(t,{...n,...s})}function nw(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:c,rowKeys:u}=o,{numHeads:l,headDim:f}=r,d=s*u.shape[1]*l*f*4,p=g=>({...g,shape:[n,l,f],offsetBytes:d}),h=a.map((g,m)=>({...g,kRotated:p(c[m].k),kUnshifted:c[m].kUnshifted&&p(c[m].kUnshifted),v:p(c[m].v)}));pr(t,{...sw(t,e,h),earlierKeys:g=>{let m=(s===0?a:c)[g].kUnshifted;return b(m,"a model without keyShift has no keys before their shift"),m},addAttention:(g,m)=>iw(g,e,{layer:m,numRows:n,numTiles:i,numSteps:s+1})})}function sw(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:c,rotation:u}=r,l=Yn(t,e);return Rt(t,{tokens:c,table:l,x:u,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:u}}function KS(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>iw(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function iw(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,rowKeys:a,tiles:c}=r,{qRotated:u,kRotated:l,v:f,attention:d}=s[o];rw(t,{q:u,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,rowKeys:a,tiles:c,numHeads:e.numHeads,headDim:e.headDim,...n})}var ac=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){b(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);b(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}rowKeys(e){let r=new Uint32Array((1+this.numSteps)*e);for(let{endKey:o,firstRow:n,endRow:s}of this.#r)r.fill(o,n,s);return this.#n.forEach((o,n)=>r.set(o,(1+n)*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{b(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],c={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,c}),this.#o=o}};function GS(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var cc=class{#e;#t;#r;#o;#n=[];#s=[];#a=[];#i=[];constructor(e,r,o){this.#o=we(r.config),this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#n=e,this.#a=n,this.#s=o;let s=new Uint32Array(r*this.#o).fill($),i=0;e.forEach((a,c)=>{let u=new vt(this.#t);for(let l=0;l<a.length;l++,i+=this.#o)u.read(a[l],s,i,this.#c(c,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(this.#o),n=0;this.#i=this.#n.flatMap((s,i)=>{let a=new vt(this.#t),c=0;return this.#a[i].flatMap(u=>{for(;c<u-r;c++)a.read(s[c],o,0,this.#c(i,c));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*this.#o).fill($);this.#i.forEach((n,s)=>n.read(e[s],o,s*this.#o)),this.#e.write(this.#r,o)}#c(e,r){let o=this.#s[e],n=r===this.#n[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}},VS=128,aw="lower the decoder's maxPromptTokens, maxRows or maxSteps",ds=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new ac,this.#o=0,this.#e=n;let{embeddingRows:s}=n.inputs;this.#n=s&&new cc(e.gpu,new bt(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,c)=>c))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=sc(r,i);if(a>s)throw new y(`Cannot allocate the decoder: it takes ${ct(a)} besides the weights, expected at most ${ct(s)}; ${aw}, or raise its memory limit`);let{gpu:c}=e,u=await es(c,f=>fs(r,i,f),{what:"the decoder",remedy:aw}),l=new t(e,r,i,u);return l.load(o),l}load(e){let{parameters:r}=this.#e;ts(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:I})=>[I])}=r,{config:i}=this,{gpu:a}=this.registry,c=this.#e,u=e.reduce((I,{length:k})=>I+k,0);this.#f("prompt tokens",u,this.extent.maxPromptTokens);let l=St(u),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),h=[],g=[],m=0;for(let[I,k]of e.entries()){let R=o===1/0?k.length:o;b(k.length>=R,`a prompt of ${k.length} tokens has no ${o} last ones`),this.#l(k.length-1);let L=m+k.length;f.set(k,m);for(let j=m;j<L;j++)d[j]=j-m;p.fill(m,m,L);let V=m;for(let j of s[I]){let Oe=m+j-(o===1/0?j:o);b(Oe>=V,`ends ${s[I]} of a prompt are less than ${o} tokens apart`),V=m+j;for(let Qe=Oe;Qe<V;Qe++)h.push(Qe);g.push({firstKey:m,endKey:V})}b(V<=L,`ends ${s[I]} of a prompt of ${k.length} tokens`),m=L}this.#r.begin(g),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(m,m),this.#i(f,d),a.write(c.inputs.segmentStart,p),this.#a(()=>Xn(p,l)),a.write(c.chosen.positions,Uint32Array.from(h));let w=St(h.length),x=w<=c.tiles.shape[0];x&&(this.#s(GS(g,h),w),a.write(c.rowKeys,Uint32Array.from(h,I=>I+1)));let T=this.#u(x?`prefill ${l} for ${w}`:`prefill ${l}`,I=>ow(I,{config:i,tensors:c,rows:l,numWanted:x?w:void 0}));return await this.#c(T,h.length,x?void 0:h)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#f("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#s(this.#r.children)}async step(e,r){b(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;b(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#f("steps",n+1,this.extent.maxSteps),this.#f("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#s(this.#r.children));let s=St(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let h of a)this.#l(h);this.#i(i,a),this.#n?.writeStep(e,s),this.#a(()=>this.#r.previousKeys(s));let{config:c}=this,u=this.#e,{rowKeys:l}=u;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.rowKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`,p=h=>nw(h,{config:c,tensors:u,rows:s,step:n,numTiles:f});return await this.#c(this.#u(d,p),o)}#s(e,r){let{gpu:o}=this.registry,n=tw(e,ew(o.info,this.config.headDim));this.#o=r??Math.min(St(n.length),this.#e.tiles.shape[0]);let s=new Uint32Array(this.#o*4);n.forEach((i,a)=>s.set([i.firstKey,i.endKey,i.firstRow,i.endRow],a*4)),o.write(this.#e.tiles,s)}#a(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#i(e,r){let{gpu:o}=this.registry,n=G(this.config);b(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#c(e,r,o){let{gpu:n}=this.registry,{config:s}=this,i=St(r),{chosen:a,head:c,parameters:u}=this.#e,l=this.#u(`head of ${i}, ${o?"chosen":"all"}`,w=>Gm(w,{config:s,hiddenStates:c.xLastNorm,operands:u,tensors:o?a:{...a,positions:a.rowIndex},rows:i})),f={...a.logProbabilities,shape:[r,G(s)]},d=o?(o.at(-1)??-1)+1:r,p=w=>{e.encode(w),l.encode(w)},h=[f,{...c.xLastScale,shape:[d]}],[g,m]=await n.readAfter(p,...h);return await this.registry.ready(),fm(g,o?o.map(w=>m[w]):[...m]),g}#u(e,r){let o=this.#t.get(e),n=o??new ze(this.registry,e);if(o||r(n),this.#t.delete(e),this.#t.set(e,n),this.#t.size>VS){let[[s,i]]=this.#t;this.#t.delete(s),i.destroy()}return n}#l(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new y(`Cannot decode: position ${e} was asked for, expected at most ${r-1}; shorten the prompt or use a model with longer sequences`)}#f(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, expected at most ${o}; create a larger decoder`)}};function se(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var gr=-1;function ps(t,e){let r=Float64Array.from(e,(s,i)=>s===gr?gr:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}var hs=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};function Ao(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var cw=47;var iI=new Uint16Array(9);function uw(t){return t?YS(t):WS}var WS={maxMeasurementTokens:cw,divide:t=>[t],write({measurements:t},e,r,o){let n=new Ge(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.rttHistory)&&Zp(s.rttHistory,o,e.indexOf(8,i)*Sn)}return n.at}};function YS(t){let e=yn(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:ar(n)})),write({measurements:r},o,n){let s=new cr(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}var Ft=Float64Array.from(le,An),dw=6e4,lw=Ft.findIndex(t=>t>dw),JS=.01,We=class{probabilities=new Float64Array(le.length);cumulative=new Float64Array(le.length)},kt=class t{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0,s=new Float64Array(r.length)){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,b(r.length===le.length,"one probability per canonical code"),this.#e=s;let i=0;for(let a=0;a<r.length;a++)s[a]=i+=r[a]}copy(){let{pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}=this;return new t(e,r.slice(),o,n)}get meanMs(){let e=this.withinPingLimit;if(e===0)return dw;let r=0;for(let o=0;o<lw;o++)r+=this.probabilities[o]*Ft[o];return r/e}get withinPingLimit(){return this.#e[lw-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return fw(le,Ze(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: expected 0 to 1`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<Ft.length;i++){for(n+=this.probabilities[i];Ft[i]>Ft[o]*(1+JS);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&XS(s,le[i],this.probabilities[i]);return s}#t(e){return Ft[Math.min(fw(this.#e,e),Ft.length-1)]}};function XS(t,e,r){let o=Tn(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let c=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);c>0&&(t[a].probability+=r*c/n)}}function fw(t,e){return Ao(t.length,r=>t[r]>=e)}var X=[...new Set([...le].map(t=>t>>8))],QS=X.map(t=>11+t),pw=[8,10],Ht=Array.from({length:256},()=>[]);for(let t of le)Ht[t>>8].push(t&255);function ms(t){return Ht[t]}function hw(t,e=new We){let{outcome:r,first:o,seconds:n,expanded:s}=t,{probabilities:i,cumulative:a}=e,c=Ye(o,X),u=0,l=0,f=0,d=0;X.forEach((h,g)=>{let m=c.probabilities[g],w=Ht[h].length;if(s[d]===g){let x=i.subarray(f,f+=w);u+=m*c.mass*_w(x,se(n,d++),Ht[h]);for(let T=0;T<w;T++)x[T]*=m}else u+=m*c.mass,l+=m,i.fill(m/w,f,f+=w)});let p=To(r);return new kt(p,i,u,l,a)}function To(t){return 1/(1+Math.exp(t[8]-t[10]))}function mw(t,{outcome:e,first:r,second:o}){if(t===null)return wr(e,10,pw);let[n,s]=[t>>8,t&255];return wr(e,8,pw)+wr(r,11+n,QS)+wr(o,11+s,Ht[n].map(i=>11+i))}function gw([t,e],{first:r,ofLow:o,ofHigh:n}){let s={below:0,within:0},{probabilities:i}=Ye(r,X);return X.forEach((a,c)=>{if(a!==t>>8&&a!==e>>8){a<t>>8?s.below+=i[c]:a<e>>8&&(s.within+=i[c]);return}let u=Ye(a===t>>8?o:n,Ht[a]).probabilities;Ht[a].forEach((l,f)=>{let d=a<<8|l;d<t?s.below+=i[c]*u[f]:d<=e&&(s.within+=i[c]*u[f])})}),s}function wr(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function ww(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=Ye(t,X),s=X.keys().toArray().toSorted((c,u)=>o[u]-o[c]),i=new Set(r===null?[]:[X.indexOf(r>>8)]),a=1;for(let c of s){if(a<=e)break;i.add(c),a-=o[c]}return[...i].sort((c,u)=>c-u)}function Ye(t,e){let r=new Float64Array(e.length);return{mass:_w(r,t,e),probabilities:r}}function _w(t,e,r){let o=0;for(let n=0;n<r.length;n++)o+=t[n]=Math.exp(e[11+r[n]]);for(let n=0;n<r.length;n++)t[n]/=o;return o}var ek=8192,tk=1024;function rk(t){return uw(jn(t)).maxMeasurementTokens-1}function uc(t,e){for(let r=ek;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,X.length),maxSteps:2};if(r<X.length||ic(t,o,e))return o}}var ok=8;function xw(t,e){for(let r=tk;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,ok*r),maxRows:r,maxSteps:rk(t)};if(r<=32||ic(t,n,e))return n}}function*gs(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}async function nk(t,e,r){let o=G(t.config),n=e.flatMap(({continuations:c})=>[...c]),s=Uint32Array.from(e.flatMap(({continuations:c},u)=>c.map(()=>u))),i=(c,u)=>l=>{n.forEach((f,d)=>{c<f.length&&r(se(l,u[d],o),d,c)}),t.registry.gpu.recycle(l)},a=[t.prefill(e.map(({prompt:c})=>c)).then(i(0,s))];t.fork(e.map(()=>1));for(let c=1;;c++){let u=ps(s,n.map(l=>c<l.length?l[c-1]:gr));if(u.tokens.length===0)break;s=u.rows,a.push(t.step(u.tokens,u.parents).then(i(c,s)))}await Promise.all(a)}function*sk(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let c=0;c<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(c,c+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,c+=l.length}o.length>0&&(yield o)}var ws=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Zt(e.registry.gpu.device)};let o=n=>ds.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new _s(()=>o(uc(e.config,this.#t))),this.#o=new _s(()=>o(this.continuationExtent))}get continuationExtent(){return xw(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=uc(this.#e.config,this.#t),s=0;for(let i of gs(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>{let n=await o.prefill(e),s=await r(o,n);return o.registry.gpu.recycle(n),s})}async tokenLogProbabilities(e,r){let o=G(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let c=await i.prefill(a,{numLast:r}),u=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>c[u++*o+d]))}i.registry.gpu.recycle(c)}),n}async visitContinuations(e,r){let o=0;for(let n of sk(e,this.continuationExtent)){let s=o;await this.#o.run(i=>nk(i,n,(a,c,u)=>r(a,s+c,u)));for(let{continuations:i}of n)o+=i.length}}async continuationLogProbabilities(e,r){let o=e.flatMap(({prompt:s,continuations:i})=>i.map(a=>({tokens:a,places:r?.(a,s)}))),n=o.map(({tokens:s})=>new Float32Array(s.length));return await this.visitContinuations(e,(s,i,a)=>{let{tokens:c,places:u}=o[i],l=u?.[a];n[i][a]=l?wr(s,c[a],l):s[c[a]]}),n}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},_s=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var yw=2**32-1;function _e(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return zo({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:it,sequenceLength:e}).subarray(0,-1)}function zo(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new y(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: expected two addresses of one version`);let a=new Uint16Array(n+1),c=new Ge(a),u=Kt({...t,context:r},n);lc(u,t.timeS);for(let l of u)c.write(l,it);return c.write(t,o),a.subarray(0,c.at)}function lc(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new y(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, expected none after it`);if(r!==null&&o!==null&&o-r>yw)throw new y(`Cannot ask about times ${o-r} s apart: expected at most ${yw} s between two measurements`);r=o??r}}function Kt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,c=Math.max(0,s.length-Math.ceil(a/11));for(let u=c;u<=s.length;u++){let l=null,f=0;for(let d of[...s.slice(u),i])f+=Ke(d,l),l=d.timeS??l;if(f<=a)return s.slice(u)}throw new y(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}var ik=new We,ak=X.keys().toArray();async function bw(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,X.length,async(s,i,a)=>{let c=r.slice(a,a+i.length),u=s.prefill(i,{numLast:2,recents:c}),l=i.map(()=>ak);if(n){let{maxSpreadMass:g,codes:m}=n,w=await u;l=i.map((x,T)=>ww(se(w,2*T+1),{maxSpreadMass:g,code:m[a+T]}))}s.fork(l.map(({length:g})=>g));let f=s.step(l.flat().map(g=>11+X[g])),[d,p]=await Promise.all([u,f]),h=0;l.forEach((g,m)=>{let w={outcome:se(d,2*m),first:se(d,2*m+1),expanded:g,seconds:p.subarray(h*267,(h+=g.length)*267)};o(hw(w,ik),a+m)}),s.registry.gpu.recycle(d,p)})}var vw=Date.UTC(1990,0,1)*1e3,Sw=Date.UTC(2100,0,1)*1e3;var Tw=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,$o={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},kw="",Ew=!1;function xs(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*$o[e]):ck(t);if(Aw(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${Tw.test(t)?"there is no such date or time":"it is not a time"}, expected a time as ISO 8601 or Unix ${e}`};let n=r&&Object.keys($o).find(i=>Aw(+t*$o[i]));if(!n)return{fault:"expected a time from 1990 to 2099"};let s=Math.floor(+t*$o[n]/$o[e]);return{fault:`these look like ${n}, expected Unix ${e}, such as ${s}`}}function Aw(t){return t>=vw&&t<Sw}function ck(t){let e=Tw.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==kw){let c=Date.parse(`${r}T00:00Z`);Ew=!Number.isNaN(c)&&new Date(c).toISOString().startsWith(r),kw=r}if(!Ew)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var uk=["src","dst","time","context"],lk=["src","dst","time","rtt"],fk=80;function ys(t){let{src:e,dst:r,time:o,context:n}=Mw(t,uk),s=[],i=zw("src",e,s),a=zw("dst",r,s);return{source:i,destination:a,timeS:Iw(o),context:hk(n,s),notes:s}}function Ow(t){let{source:e,destination:r,timeS:o,context:n}=fc(t);for(let s of[e,r])if(!ee(s))throw new y(`Cannot give one exact distribution for ${at(s)}: expected two addresses; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function fc(t){let{source:e,destination:r,timeS:o,context:n}=ys(t);return{source:e,destination:r,timeS:o,context:n??[]}}function dk(t){if(Mh(t))return`${t} has bits after the prefix: taken as ${at(ka(t))}`}function Mw(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new y(`found ${No(r)}, expected only ${e.join(", ")}`)}function zw(t,e,r){let o=Pw(t,e,"address or prefix");try{let n=ka(o),s=dk(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof y?new y(`${t}: ${n.message}`):n}}function $w(t,e){let r=Pw(t,e,"address"),o=Kn(r);if(o)return o;throw new y(`found ${t} ${Je(r)}, expected an IPv4 or IPv6 address${uo(r)}`)}function Pw(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=fk)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${Je(e)}`;throw new y(`found ${o}, expected an IPv4 or IPv6 ${r}`)}function pk(t){let e=xs(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function Iw(t){if(t==null||t==="")return null;let e=pk(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new y(`found time ${Je(t)}, ${e.fault}`)}function hk(t,e){if(t==null)return null;if(!Array.isArray(t))throw new y(`found context ${Je(t)}, expected an array of measurements`);let r=t.map((o,n)=>{try{return Oo(o)}catch(s){throw s instanceof y?new y(`context[${n}]: ${s.message}`):s}});return gk(r,e)}function Oo(t){if(typeof t!="object"||t===null)throw new y("found no JSON object, expected one with src, dst, time and rtt");let{src:e,dst:r,time:o,rtt:n}=Mw(t,lk),s=$w("src",e),i=$w("dst",r);if(s.length!==i.length)throw new y("found addresses of different IP versions, expected two of one version");return{source:s,destination:i,rttCode:mk(n),timeS:Iw(o)}}function mk(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return Ze(t);let e=t===void 0?"no rtt":`rtt ${Je(t)}`;throw new y(`found ${e}, expected ms of 0 or more, or null for no reply`)}function Je(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?No(t):t)}function gk(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new y("found context with a time in some measurements only, expected it in all or none");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var wk=2**30;function _k({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new W(`the model has vocabulary ${r}, expected v2; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var bs=class t{config;registry;step;decoders;calibration;#e;#t;constructor(e,r,o,n,{memoryLimitBytes:s=wk,calibration:i,adapted:a,trainingData:c}){this.config=e,this.registry=r,this.step=n,this.#t=new We,this.#e=new ss(e,o,{adapted:a,trainingData:c}),this.calibration=i,this.decoders=new ws(this,s)}static async from(e,r={}){r.anyVocabulary||_k(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new ls(await Eo.open()),{adapted:a,trainingData:c}=e;return new t(o.model,i,n,s.step,{...r,adapted:a,trainingData:c})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#e.weights}get trainingData(){return this.#e.trainingData}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:Ow(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o.copy())),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(..._e(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:c,timeS:u})=>c===null?[]:[{rttCode:c,timeS:u}]))},i=(a,c)=>r(this.calibration?.apply(a,this.#t)??a,c);await bw(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:Oo(s)),n=await this.#e.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};function ut({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function Rw(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function vs(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,c)=>a+c,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*Ss(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,c)=>o(s+c));await t.continuePrompts([e],async(a,c)=>{a.fork([i.length]);for(let u of i)u.draw(c);for(;i.some(u=>!u.isComplete);){let u=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(se(u,f))),a.registry.gpu.recycle(u)}}),yield*i}}var xk=Array.from({length:256},(t,e)=>e);async function Nw({decoder:t,ends:e},r,o){let n=r.flatMap((a,c)=>a.take(o).map(u=>({search:a,prompt:c,at:u,isDone:!1})));if(n.length===0)return 0;t.fork(r.map(()=>1));let s=e,i=Uint32Array.from(n,({prompt:a})=>a);for(let a=0;;a++){n.forEach((l,f)=>{if(l.isDone||l.at.bytes.length!==a)return;let d=l.search.expand(l.at,Ye(se(s,i[f]),xk).probabilities);d?l.at=d:l.isDone=!0});let c=n.map(({at:l,isDone:f})=>f?gr:11+l.bytes[a]),u=ps(i,c);if(s!==e&&t.registry.gpu.recycle(s),u.tokens.length===0)return n.length;s=await t.step(u.tokens,u.parents),i=u.rows}}var Lw=256,ks=class{#e;#t;#r=new hs((e,r)=>dc(e)>dc(r));#o=[];#n={bytes:[],mass:1};#s=new Set;#a=0;constructor({numBytes:e,top:r}){this.#e=e,this.#t=r}get found(){return this.#o}get numExpanded(){return this.#a}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#i<=this.#u}take(e){let r=[];for(this.#n&&e>0&&this.#t>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#i>this.#u;)r.push(this.#c());for(let o of r)this.#s.add(o);return r}expand(e,r){b(this.#s.delete(e),"a node is expanded that was not taken"),this.#a++;let o=r.map(a=>e.mass*a);if(e.bytes.length+1===this.#e){o.forEach((a,c)=>this.#l({bytes:[...e.bytes,c],mass:a}));return}let n=Uint8Array.from({length:Lw},(a,c)=>c);n.sort((a,c)=>o[c]-o[a]||a-c);let s={node:e,masses:o,order:n,numTaken:1};this.#r.add(s);let i=Cw(s,n[0]);return this.#s.add(i),i}get#i(){return this.#r.first?dc(this.#r.first):0}#c(){let{first:e}=this.#r;b(e,"a child is taken where there is none");let r=Cw(e,e.order[e.numTaken++]);return e.numTaken===Lw?this.#r.removeFirst():this.#r.sinkFirst(),r}get#u(){return this.#o.length<this.#t?0:this.#o.at(-1)?.mass??1/0}#l(e){if(e.mass<=this.#u)return;let r=o=>this.#o[o].mass<e.mass;this.#o.splice(Ao(this.#o.length,r),0,e),this.#o.length>this.#t&&this.#o.pop()}};function dc({masses:t,order:e,numTaken:r}){return t[e[r]]}function Cw({node:t,masses:e},r){return{bytes:[...t.bytes,r],mass:e[r]}}var Es=16,Dw=.999,yk=1024,bk=ut({first:0,last:255});async function Uw(t,e,{numCandidates:r,maxExpansions:o,onSearch:n,signal:s}){let{decoders:i,trainingData:a}=t,c=e[0].query.source.length,u=vk(a,c).slice(0,r),l=e.map(({query:w})=>new pc(a,w)),f=l.map(({known:w})=>qw([...w,...u])),d=await i.continuationLogProbabilities(e.map(({prompt:w},x)=>({prompt:w,continuations:f[x].map(T=>Uint16Array.from(T,I=>11+I))})),()=>Array.from({length:c},()=>bk)),p=0,h=f.map((w,x)=>{let T=d.slice(p,p+=w.length),I=w.map((R,L)=>{let V=Math.exp(T[L].reduce((j,Oe)=>j+Oe,0));return{address:R,prior:l[x].of(R,V)}}),{length:k}=l[x].known;return{known:I.slice(0,k),others:I.slice(k)}}),g=h.map(({known:w,others:x})=>Bw([...w,...x])>=Dw),m=h.map(({known:w},x)=>new ks({numBytes:c,top:g[x]?0:w.length+r}));return g.every(Boolean)||await i.continuePrompts(e.map(({prompt:w})=>w),async(w,x)=>{for(let T=0;T<o&&(s?.throwIfAborted(),await Nw({decoder:w,ends:x},m,Es)!==0);T+=Es)n?.(m.reduce((I,{numExpanded:k})=>I+k,0))}),h.map(({known:w,others:x},T)=>{let I=m[T].found.map(({bytes:L,mass:V})=>{let j=Uint8Array.from(L);return{address:j,prior:l[T].of(j,V)}}),k=new Map(w.map(L=>[te(L.address),L])),R=Bw(w);for(let L of[...x,...I].sort((V,j)=>j.prior-V.prior)){if(k.size>=w.length+r||R>=Dw)break;let V=te(L.address);k.has(V)||(k.set(V,L),R+=L.prior)}return[...k.values()]})}function Bw(t){return t.reduce((e,{prior:r})=>e+r,0)}var pc=class{known;#e=new Map;#t;#r;constructor(e,{source:r,context:o}){let n=Zw(e).flatMap(i=>i.destinationsOf(r));for(let{address:i,seen:a}of n){let c=te(i.bytes);this.#e.set(c,(this.#e.get(c)??0)+a.measurements)}this.#t=e?.known.pairDiscount??1,this.#r=this.#e.values().reduce((i,a)=>i+a,0),n.sort((i,a)=>a.seen.measurements-i.seen.measurements);let s=o.filter(i=>te(i.source)===te(r));this.known=qw([...s.map(({destination:i})=>i),...n.map(({address:i})=>i.bytes)]).slice(0,yk)}of(e,r){if(this.#r===0)return r;let o=this.#e.get(te(e))??0,n=this.#t*this.#e.size*r;return(Math.max(0,o-this.#t)+n)/this.#r}};function vk(t,e){return Zw(t).flatMap(o=>[...o.destinations()]).filter(({bytes:o})=>o.length===e).sort((o,n)=>n.asDestination.measurements-o.asDestination.measurements).map(({bytes:o})=>o)}function Zw(t){return t?[t.known,...t.adaptation?[t.adaptation.known]:[]]:[]}function qw(t){return[...new Map(t.map(e=>[te(e),e])).values()]}function As([t,e]){if(!(t>=0&&t<=e&&e<1/0))throw new y(`Cannot ask for destinations at an RTT of ${t}..${e} ms: expected 0 or more, the lesser first`);return[Ze(t),Ze(e)]}function Ts({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new y(`Cannot ask for prefixes of ${e} bits: expected 0 to ${r} for the destinations of an IPv${r===32?4:6} source`)}var jw=P({destinations:q(P({prefix:z(),probability:v(),measured:po.nullable().describe("by the source, in the training data; null if the model does not say what these were")})).describe("the most probable first"),unlistedProbability:v().describe("that of the candidates that are not listed"),candidates:O().describe("how many destinations were ranked"),priorMass:v().describe("the probability of all candidates before the RTT was known; others cannot be listed")});function Fw({destinations:t,...e},r,{trainingData:o}){return{destinations:t.map(({prefix:s,probability:i})=>({prefix:at(s),probability:i,measured:o?ho(Gn(o,r,s)):null})),...e}}async function Hw(t,e,r={}){let{numCandidates:o=256,top:n=20,maxExpansions:s=512,onSearch:i,onProgress:a,signal:c}=r,u=e.map(d=>Sk(d,t.config.sequenceLength)),l=u.map(({prompt:d})=>d),f=[];for(let d of gs(l,t.decoders.continuationExtent,Es)){let p=Ts(e[0],r.prefixLength),h=u.slice(f.length,f.length+d.length),g=await Uw(t,h,{numCandidates:o,maxExpansions:s,onSearch:i,signal:c});for(let[m,w]of h.entries()){let x=await kk(t,{...w,candidates:g[m],signal:c});f.push(Ak(g[m],x,{top:n,prefixLength:p})),a?.(f.length)}}return f}function Sk(t,e){let{source:r,rttMs:o,timeS:n,context:s}=t,i=o&&As(o),a=_e({source:r,destination:r,timeS:n,context:s},e),c=a.lastIndexOf(r.length===4?3:4)+1;return{query:t,codes:i,prompt:a.slice(0,c),time:[...a.subarray(c+r.length)]}}async function kk(t,{query:e,prompt:r,candidates:o,time:n,codes:s,signal:i}){let a=Ek(s),c=o.flatMap(({address:h})=>a.map(g=>Uint16Array.of(...Array.from(h,m=>11+m),...n,...g))),u=e.source.length+n.length,l=a[0].length,f=t.gpu.array(c.length*l*267),d=(h,g)=>se(f,h*l+g);await t.decoders.visitContinuations([{prompt:r,continuations:c}],(h,g,m)=>{i?.throwIfAborted(),m>=u&&d(g,m-u).set(h)});let p=o.map((h,g)=>{let m=a.length*g,w=m+a.length-1,x=To(d(m,0));if(!s)return x;let T={first:d(m,1),ofLow:d(m,2),ofHigh:d(w,2)},I=gw(s,T);return(1-x)*(t.calibration?.massOf(I)??I.within)});return t.gpu.recycle(f),p}function Ek(t){if(!t)return[[10]];let e=new Set(t.map(r=>r>>8));return Array.from(e,r=>[8,11+r,11])}function Ak(t,e,{top:r,prefixLength:o}){let n=t.map(({prior:u},l)=>u*e[l]),s=n.reduce((u,l)=>u+l,0),i=new Map;t.forEach(({address:u},l)=>{let f=co(u,o),d=at(f),p=s>0?n[l]/s:1/t.length;i.set(d,{prefix:f,probability:(i.get(d)?.probability??0)+p})});let a=[...i.values()].sort((u,l)=>l.probability-u.probability).slice(0,r),c=a.reduce((u,{probability:l})=>u+l,0);return{destinations:a,unlistedProbability:Math.max(0,1-c),candidates:t.length,priorMass:t.reduce((u,{prior:l})=>u+l,0)}}var Kw={v1:{byteBase:10,roleNames:kp,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:kn,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var Gw=ut({first:0,last:255}),Tk=[ut({first:0,last:0}),ut({first:0,last:31})],zk=ut({first:1,last:255}),$k=X.map(t=>11+t),Ok=new Map(X.map(t=>[t,ms(t).map(e=>11+e)])),Vw=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],_r=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#a=!1;constructor(e){this.#t=e}get isComplete(){return this.#a||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#c():this.#i()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#a=!0;return}let r=Vw.find(o=>o.token===e);b(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#i(){let r=Vw.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#c(){let e=this.#n;return this.#o===8?e.length===0?$k:Ok.get(e[0])??[]:this.#o===5?Tk[e.length]??Gw:this.#o===7&&e.length===2&&e[0]+e[1]===0?zk:Gw}};var hc=new Set([5,6,7]),Ww=P({meanBits:v().describe("mean over the orders"),spreadBits:v().describe("standard deviation over the orders; 0 for a consistent model"),totalBits:v().describe("-log2 P(measurement), whatever the order"),orders:q(P({order:z().describe("the fields, separated by commas"),bits:v().describe("-log2 P(measurement, order)"),blockBits:_t(z(),v()).describe("by field")}))});function Yw({meanBits:t,spreadBits:e,totalBits:r,orders:o}){let n=o.map(({blocks:s,bits:i})=>({order:s.map(({field:a})=>a).join(),bits:i,blockBits:Object.fromEntries(s.map(({field:a,bits:c})=>[a,c]))}));return{meanBits:t,spreadBits:e,totalBits:r,orders:n}}function Mk(t){return t?Jr:Jr.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function Jw(t,e,r={}){let o=e.map(s=>Pk(s,r.order,t.config)),n=await Nk(t,o);return o.map(({orders:s})=>Dk(s.map(i=>Ck(i,n.get(i)??[]))))}function Pk(t,e,r){let o=Rk(t.measurement,e),n=Ik(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=Kw[r.vocabulary],a=[...n.keys()].filter(u=>u>=s&&i(n[u])),c=new Map(o[0].map((u,l)=>[u,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(u=>{let l=u.map(f=>c.get(f)??[]);return{order:u,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function Ik({measurement:t,rttMs:e,context:r},o,n){let s=jn(n);if(!s)return zo(t,{context:r,order:o,sequenceLength:n.sequenceLength});b(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(ar(i));return new cr(a,yn(s)).writeFields(i,o),a}function Rk({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:Mk(t!==null)}async function Nk(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?Lk:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function Lk(t,e){let r=t.some(s=>hc.has(s)),o=new _r(e.some(s=>hc.has(s))),n=s=>s!==0&&(r||!hc.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function Ck({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:Mo(a)}}),bits:Mo(r)}}function Dk(t){let e=t.map(({bits:i})=>i),r=Mo(e)/e.length,o=Math.sqrt(Mo(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(Mo(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function Mo(t){return t.reduce((e,r)=>e+r,0)}var Bk=4,Uk=[.05,.25,.5,.75,.95],mc=P({quantiles:q(v().min(0).max(1)).max(200).optional().describe("quantiles from 0 to 1 (0.05,0.25,0.5,0.75,0.95)"),at:q(v().min(0)).max(200).optional().describe("RTTs in ms: the probability of each and of at most each"),cdf:O().min(2).max(1e3).optional().describe("points of the distribution function")}),Xw=_t(z(),v()),Qw=P({pFailed:v().describe("P(no reply)"),meanMs:v().describe("mean of the replies up to 60 s, the longest that ping tools wait, to four digits"),likeliest:P({rttMs:v(),probability:v()}).describe("the RTT that more replies are near than any other, and P(within the hundredth around it)"),quantilesMs:Xw.describe("RTT by quantile"),canonicalMass:v().describe("the mass that the model gave to what is an RTT"),at:q(P({rttMs:v(),cdf:v().describe("P(RTT <= this), its whole interval counted"),probability:v().describe("P(RTT in the interval)"),lowMs:v().describe("begin of the interval of RTTs that the model does not tell apart"),highMs:v().nullable().describe("end of the interval, outside; null where it has none"),bits:v().nullable().describe("-log2 P(a reply with an RTT in the interval); null where that is 0")})).optional().describe("the RTTs asked for"),cdf:q(P({rttMs:v(),cdf:v()})).optional().describe("P(RTT <= this) at RTTs evenly spaced in logarithms, from the 0.1 % to the 99.9 % quantile"),drawn:P({numDraws:O(),numDistinct:O(),sourceProbability:v().nullable().describe("P(source in its prefix); null of an address"),destinationProbability:v().nullable().describe("P(destination in its prefix | source); null of an address"),standardErrors:P({pFailed:v(),meanMs:v(),quantilesMs:Xw,cdf:q(v()).optional(),destinationProbability:v()})}).optional().describe("between prefixes: what was drawn of them, and how far the numbers may be off")}),Zk=[.001,.999];function e_(t,e={}){let{quantiles:r=Uk,at:o=[],cdf:n}=e,{distribution:s}=t.mixture,{pFailed:i,meanMs:a,canonicalMass:c}=s;return{pFailed:i,meanMs:Number(a.toPrecision(Bk)),likeliest:s.likeliest(),quantilesMs:t_(r,u=>s.quantileMs(u)),canonicalMass:c,...o.length>0&&{at:o.map(u=>jk(s,u))},...t.mixture.numDraws>0&&{drawn:Fk(t,r,o)},...n!==void 0&&{cdf:qk(s,n)}}}function qk(t,e){let[r,o]=Zk.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rttMs:i,cdf:t.cdf(i)}})}function jk(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=Tn(le[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function Fk(t,e,r){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:c,pFailedError:u,meanErrorMs:l}=o;return{numDraws:a,numDistinct:c,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:u,meanMs:l,quantilesMs:t_(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function t_(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}function $s(t){return gc(t)}function gc(t){return Array.isArray(t)?t.map(gc):typeof t!="object"||t===null?t:Object.fromEntries(Object.entries(t).map(([e,r])=>[r_(e),gc(r)]))}function r_(t){return t.replace(/[A-Z]/g,e=>`_${e.toLowerCase()}`)}function Po({shape:t}){let e=Object.entries(t).map(([r,o])=>[r_(r),zs(o)]);return Object.fromEntries(e)}function zs(t){let e=t;t instanceof gt?e=P(Po(t)):t instanceof Gi?e=q(zs(t.element)):t instanceof Tt?e=dn(zs(t.unwrap())):t instanceof Hr&&(e=pn(zs(t.unwrap())));let r=Ne.get(t);return e!==t&&r&&Ne.add(e,r),e}function xr(t){let e=`expected only ${Object.keys(t).join(", ")}`;return wt(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var Io=z({error:"expected an IPv4 or IPv6 address"}),Hk=Io.describe("source: an address or prefix"),Kk=Io.describe("destination: an address or prefix"),wc=Wi([z(),v()]).nullish().describe("when: Unix seconds or ISO 8601 (any time)"),_c=v().nullable(),Os=xr({src_addr:Io,dst_addr:Io,timestamp:wc,rtt:v().min(0).nullable().describe("ms; null: no reply")}),xc=q(Os).optional().describe("recent measurements, in any order"),o_=xr(mc.shape),n_=xr({src_addr:Hk,dst_addr:Kk,timestamp:wc,context:xc,...mc.shape,draws:O().min(2).max(2**12).optional().describe("addresses, or pairs of them, drawn from prefixes (64)"),seed:O().min(0).max(2**32-1).optional().describe("seed of these draws (0)")}),aN=P({src_addr:z(),dst_addr:z(),timestamp:_c,context_measurements:O().describe("how many of the context were used"),...Po(Qw),basis:Uh.describe("what the answer rests on: how often the addresses and the pair were measured"),notes:q(z()).optional().describe("for people"),step:O().describe("the model's steps of training")}),cN=P({line:O(),error:z()}),s_=xr({src_addr:Io.describe("source: an address"),rtt:Fr([v().min(0),v().min(0)]).describe("the least and the greatest RTT, ms"),timestamp:wc,context:xc,top:O().min(1).max(1e3).optional().describe("how many are listed (20)"),prefix_length:O().min(0).max(128).optional().describe("of the listed prefixes, which are sums over their addresses (that of an address)"),candidates:O().min(1).max(1024).optional().describe("how many likely destinations are ranked besides those that the source is known to measure (256)"),max_expansions:O().min(1).max(2**16).optional().describe("after how many prefixes the search for likely ones ends (512)")}),uN=P({src_addr:z(),rtt:Fr([v(),v()]),timestamp:_c,prefix_length:O(),context_measurements:O(),...Po(jw),step:O()}),i_=xr({...Os.shape,context:xc}),a_={src_addr:z(),dst_addr:z(),timestamp:_c,rtt:v().nullable()},lN=P({...a_,...Po(Ww),step:O()}),fN=P({...a_,log_likelihood:v().describe("nats"),p_value:v().describe("P(a result at most as probable)")}),c_=xr({context:Kr.number().int().min(0).max(1e3).optional().describe("how many earlier lines of the same source a line sees, at most (20)"),seed:Kr.number().int().min(0).max(2**32-1).optional().describe("seed of p-values (0)")}),yc=P({version:z(),step:O(),num_parameters:O(),vocabulary:z(),model_sha256:z().describe("the checkpoint's weights: SHA-256, hexadecimal"),data_fingerprint:z().describe("of the probe rows that it was trained on"),trained_tokens:O().describe("of all its training steps, padding included"),config:_t(z(),qr()).describe("the run's whole configuration: model, optim, data, train"),is_calibrated:mt(),data:Zh.nullable().describe("the training data; null if the checkpoint does not say"),training_curve:q(P({step:O(),train_loss:v().nullable(),eval_loss:v().nullable()})).describe("some hundred points at most, nats per token"),evaluation:P({num_measurements:O(),split:z(),num_training:O().describe("measurements of the training split, as far as they were counted"),methods:q(P({name:z(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()})).describe("the model first, then the methods without a model")}).nullable().describe("from an evaluation's report.json; null where there is none")}),dN=P({...yc.shape,adapter:z().describe("the GPU or software driver that it runs on"),examples:q(P({src_addr:z(),dst_addr:z()})).describe("pairs of addresses that the model draws, to begin with")}),pN=P({type:z(),title:z(),status:O(),detail:z().describe("the line that a stage would print")});var Gk=["f32","f16"],Vk=P({formatVersion:O().optional(),model:yc,calibration:q(v()).nullable(),dtype:je(Gk),weights:q(P({path:z(),sizeBytes:O().min(1),sha256:z().regex(/^[0-9a-f]{64}$/)})).min(1)});function u_(t,e){try{let r=gp({}).parse(JSON.parse(t));return qs(r.formatVersion,e),Vk.parse(r)}catch(r){throw r instanceof y?r:new W("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var Gt=8,Wk=1e8,l_="__metadata__",Yk=P({dtype:z(),shape:q(v().int().nonnegative()),data_offsets:Fr([v().int().nonnegative(),v().int().nonnegative()])}),Jk=_t(z(),z()),bc={F32:4,F16:2};function Xk(t,{path:e,sizeBytes:r}){if(r<Gt)throw new W(`the file ends, expected ${Gt} bytes of header length`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(Wk,r-Gt))){let n=`the header's stated size is ${o} bytes, the file has ${r}`;throw new W(`${n}; it is truncated or not a safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function Qk(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/bc[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function f_(t,e){let r={path:e,sizeBytes:t.length},o=Gt+Xk(t,r),{entries:n}=eE(t.subarray(Gt,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:c}])=>{let l=(o+a)%bc[i]===0?t.subarray(o+a,o+c):t.slice(o+a,o+c);return[s,Qk(l,i)]}))}function eE(t,e){let r=tE(t,e.path);return oE(r.entries,{...e,dataOffsetBytes:Gt+t.length}),r}function tE(t,e){let r={path:e,offsetBytes:Gt},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(c){throw new W("the header is not JSON; it is damaged or not a safetensors file",{...r,cause:c})}if(t[0]!==123||typeof o!="object"||o===null)throw new W("the header does not start with {, expected a JSON object",r);let{[l_]:n={},...s}=o,i=Jk.safeParse(n);if(!i.success)throw new W(`${l_} is not text to text`,r);let a=Object.entries(s).map(([c,u])=>[c,rE(c,u,r)]);return a.sort(([,c],[,u])=>c.begin-u.begin||c.end-u.end),{entries:new Map(a),metadata:i.data}}function rE(t,e,r){let o=Yk.safeParse(e);if(!o.success)throw new W(`tensor ${t} has an invalid or missing dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new W(`tensor ${t} is ${n}, expected F32 or F16; convert it`,r);let c=bc[n]*nE(s);if(a-i!==c){let u=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new W(`${u}, expected ${c}`,r)}return{shape:s,dtype:n,begin:i,end:a}}function oE(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let c=i<n?"overlaps the tensor before it":"leaves a gap before it";throw new W(`tensor ${s} ${c}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new W(`the file has ${o} bytes, expected ${s}; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function nE(t){return t.reduce((e,r)=>e*r,1)}var sE="ping-llm weights",Ms=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(sE)}catch{return}}};var iE={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},aE=["AbortError","TimeoutError"],d_="Cannot answer: the request was ended before its answer was there; ask again",$e=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:iE[e],status:e,detail:r}}};function Ps(t){return cE(t).problem}function cE(t){return t instanceof $e?t:t instanceof Er?new $e(503,d_):t instanceof y?new $e(400,p_(t.message)):t instanceof ln?new $e(400,p_(vc(t))):t instanceof DOMException&&aE.includes(t.name)?new $e(503,d_):new $e(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function yr(t){try{return await t()}catch(e){throw!(e instanceof y)||e instanceof Er?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function p_(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function vc({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=Je(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=m_(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(uE,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${Je(s)}, ${n}`}function uE(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var lE={string:"expected text",number:"expected a number",int:"expected a whole number",array:"expected an array",tuple:"expected an array",object:"expected a JSON object"};function m_(t){return t.message.startsWith("expected ")?t.message:t.code==="invalid_type"?lE[t.expected]??`expected ${t.expected}`:t.code==="invalid_union"?`expected ${t.errors.map(([r])=>m_(r).replace(/^expected /,"")).join(" or ")}`:t.code==="too_small"?`expected at least ${h_(t.origin,t.minimum)}`:t.code==="too_big"?`expected at most ${h_(t.origin,t.maximum)}`:t.message}function h_(t,e){return t!=="array"?String(e):e===1?"1 value":`${e} values`}var fE=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function Et(t,e){let r=g_(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new y(vc(s,{value:r}))}function g_(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of fE)if(e.has(o)){if(e.has(n))throw new y(`found ${o} and ${n}, expected one of the two`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(g_)),Object.fromEntries(e)}function Sc(t,e={}){let{src_addr:r,dst_addr:o,timestamp:n,context:s,draws:i,seed:a,...c}=Et(n_,t),u=ys(w_({src_addr:r,dst_addr:o,timestamp:n,context:s}));return{query:{src:r,dst:o,...u},wanted:{...e,...c},draws:{numDraws:i,seed:a}}}function kc(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=ys(w_({...t,dst_addr:e}));if(!ee(r))throw new y(`found src_addr ${Je(e)}, expected an IPv4 or IPv6 address${uo(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function Is(t){return Oo(__(t))}function w_({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(__)}}function __({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}async function*x_(t,e,r){let o=pE(e,t.config.sequenceLength),{count:n}=r,s=i=>new Ec(o,i,r);for await(let i of Ss(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function dE(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Kt({source:o,destination:o,timeS:s,context:r},e)}function pE(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new y("Cannot sample between addresses of different versions: expected two addresses of one version");let s=new Uint16Array(e+1),i=new Ge(s),a=dE(t,e);lc(a,n);for(let m of a)i.write(m,it);let{at:c,previousTimeS:u}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(m=>l[m]),...p.filter(m=>!l[m]),"result"]);let g=(Number(l.source)+Number(l.destination))*(1+f.length)+Xr(n,u);return{tokens:s.slice(0,c+1+g),start:c,hasEarlierTime:u!==null}}var Ec=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new _r(o);for(let c of e.subarray(r+1))this.#t.push(c);this.#r=new Be(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=vs(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=Kp(Uint16Array.from(this.#e)).at(-1);return b(e,"a sample has a measurement"),e}};var br=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Ac=1024;function Tc(t){return new $e(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var Rs=class{#e;#t;#r=new br;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Ac,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),_e(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Tc(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),c=o??{},u={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(u,c),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(u,c),this.#a();try{return await s}finally{n?.removeEventListener("abort",l)}}#a(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#i(),o?0:r);this.#s={id:n,isLast:o}}async#i(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let r=this.#r.take();if(!r)break;e.push(r)}if(e.length!==0){this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);try{let r=e.map(({query:o})=>o);await yr(()=>this.#e.likelyRttDistributions(r,(o,n)=>e[n].settle(o)))}catch(r){for(let o of e)o.fail(r)}this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#i(),this.#a()}}};function y_(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var hE=["time","source","destination","result"];async function mE(t,e,r){let o=gE(e,t.config.sequenceLength),n=await wE(t,o),s=a=>new zc(o,n,{index:a,seed:r.seed}),i=Ss(t.decoders,o.prompt,{count:r.numDraws,begin:s});return _E(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function gE({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=zo(s,{context:o,order:hE,sequenceLength:n}),a=1+t.bytes.length,c=i.length-1-2*a,u=["source","destination"].flatMap((d,p)=>{let h=d==="source"?t:e,g={kind:"role",token:i[c+p*a]},m=[...h.bytes.keys()].map(w=>({kind:"byte",side:d,index:w,range:Ph(h,w)}));return[g,...m]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=u.findIndex(l);return{prompt:i.slice(0,c+f),fixed:u.slice(0,f),drawn:u.slice(f,u.findLastIndex(l)+1)}}async function wE(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var zc=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new Be(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=Rw(e,s)),this.lastToken=vs(e,{tokens:ut(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function _E({source:t,destination:e},r){let o=new Map;for(let{mass:c,...u}of r){let l=`${u.source} ${u.destination}`,f=o.get(l);f?f.count++:o.set(l,{...u,count:1})}let n=r.map(({mass:c})=>c.destination),s=r.length,i=n.reduce((c,u)=>c+u,0)/s,a=n.reduce((c,u)=>c+(u-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:ee(t)?null:r[0].mass.source,destinationProbability:ee(e)?null:i,destinationProbabilityError:ee(t)||ee(e)?0:Math.sqrt(a/s)}}function xE(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var $c=class{#e=0;#t=0;#r=new vr;#o=0;#n=new vr;#s=new vr;#a=new vr;#i=new Float64Array(le.length);#c=new Float64Array(le.length);#u=new Float64Array(le.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#a.add({y:i,w:i,count:r});let a=0;for(let c=0;c<n.length;c++){let u=s*n[c];a+=u,this.#i[c]+=r*u,this.#c[c]+=r*a*a,this.#u[c]+=r*a*s}}mixture(){let e=this.#e;b(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new kt(this.#r.sum/e,this.#i.map(a=>a/r.sum),this.#o/e),n=(a,c,u=r)=>{let l=a.squares-2*c*a.products+c**2*u.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/u.sum},s=a=>{let c=o.indexOf(a);return n({squares:this.#c[c],products:this.#u[c]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#a.sum===0?0:n(this.#s,this.#s.sum/this.#a.sum,this.#a),quantileErrorMs:a=>{let c=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+c))-o.quantileMs(Math.max(0,a-c)))/2}}}},vr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}},b_=124,yE=64;async function Oc(t,e,r={}){let o="source"in e?e:fc(e),{numDraws:n=yE,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: expected a whole number of at least 2`);if(ee(o.source)&&ee(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return Ns(await t.rttDistribution(d))}let{pairs:a,...c}=await mE(t,o,{numDraws:n,seed:s}),u=new $c;for(let l=0;l<a.length;l+=b_){let f=a.slice(l,l+b_),d=f.map(({source:p,destination:h})=>({...o,source:p,destination:h}));await t.likelyRttDistributions(d,(p,h)=>u.add(p,f[h].count)),i(l+f.length,a.length)}return{mixture:u.mixture(),...c}}function Ns(t){return{mixture:xE(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function v_({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??y_(r,s),a=e.context?0:r.length-i.length,c={source:o.bytes,destination:n.bytes,timeS:s,context:i},u={...c,context:Kt(c,t)};return _e(u,t),{query:{...e,context:e.context&&u.context},first:u,numContext:i.length,numContextLater:a}}function S_({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}async function*Mc(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*Pc(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>bE(r)})}async function Ic(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*Rc(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function bE(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new y("found no JSON, expected a JSON object",{cause:e}):e}}var vE=65536,SE=256,Ls=class{maxContext;sequenceLength;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=1/0,o=vE){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#a(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#a(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r,o){this.#a(r);let n=this.#r.get(e),s=this.#t.get(e)?.filter(({order:c})=>c>=(n?.endOrder??0))??[],i=n?[...n.context,...s.map(({measurement:c})=>c)]:[];if(!n||i.length>this.maxContext||k_([...i,o])>this.sequenceLength)for(i=this.contextOf(e,r,Math.ceil(this.maxContext/2));k_(i)>this.sequenceLength/2;)i.shift();let a=this.#t.get(e)?.at(-1);return this.maxContext>0&&this.#r.set(e,{context:i,endOrder:(a?.order??-1)+1}),i}#a(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#i(r);this.#s=[],this.#e.length>2*this.#o+SE&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#i(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#c(r[0]):this.#o>this.maxKept&&this.#c(this.#e.find(({isDropped:o})=>!o))}#c(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function k_(t){let e=null;return t.reduce((r,o)=>{let n=Ke(o,e);return e=o.timeS??e,r+n},0)}function E_({source:t,destination:e}){return`${t} ${e}`}var kE=.01,Cs=X.map(ms),A_=Cs.map(({length:t})=>t),Nc=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=kE){this.logLikelihood=mw(e,{outcome:r,first:o,second:n});let i=To(r);this.#e=Ye(o,X).probabilities.map(c=>c*(1-i));let a=e===null?-1:X.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:c}=Ye(n,Cs[a]);this.#t=this.#e[a]*c[Cs[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of Ye(r,Cs[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,A_[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<A_[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}},T_=16,z_=2**32;async function O_(t,e,r){let o=[],n=[],s=0,i=0,a=AE(e,t.config.sequenceLength),c=a.map(({tokens:u})=>TE(u,t.config.sequenceLength));return await t.decoders.withPrompts(c,1,async(u,l,f)=>{let d=a.slice(f,f+l.length);i+=l.reduce((x,{length:T})=>x+T,0);let p=d.flatMap(x=>x.numbers),h=p.map(x=>e[x]),g=await zE(u,l,{part:h,ends:d.map(({ends:x})=>x),...r}),m=$E(g,h,u.extent.maxRows).map(x=>(s+=x.bytes.length,OE(u,g,x))),w=Promise.all(m.toArray()).then(()=>g.forEach((x,T)=>o[p[T]]=EE(x,h[T].number,r.seed)));w.catch(()=>{}),n.push(w)}),await Promise.all(n),{scores:o,numExpanded:s,numTokens:i}}function EE(t,e,r){let o=new Be(r,"score/p-value",e%z_,Math.floor(e/z_));return{logLikelihood:t.logLikelihood,pValue:t.pValue(o.float64())}}function AE(t,e){let r=[],o=new Map;return t.forEach(({measurement:n,context:s},i)=>{let{rttCode:a}=n,c=_e({...n,context:s},e),u=a===null?[10]:[8,11+(a>>8),11+(a&255)],l=Uint16Array.from([...c,...u]),f=$_(c.subarray(0,c.lastIndexOf(0))),d=s.length>0?o.get(f):void 0;o.delete(f),d||r.push(d={tokens:l,ends:[],numbers:[]}),d.tokens=l.subarray(0,c.length+Math.min(u.length,2)),d.ends.push(d.tokens.length),d.numbers.push(i),o.set($_(l),d)}),r}function TE(t,e){let r=new Uint16Array(Math.min(Math.ceil(t.length/T_)*T_,e));return r.set(t),r}function $_(t){return String.fromCharCode(...t)}async function zE(t,e,{part:r,ends:o,maxRelativeError:n}){let s=G(t.config),i=r.flatMap(({measurement:f},d)=>f.rttCode===null?[d]:[]),[a,c]=await Promise.all([t.prefill(e,{numLast:3,ends:o}),M_(t,r.length,{prompts:i,steps:[i.map(()=>8)]})]),u=0,l=r.map(({measurement:{rttCode:f}},d)=>{let[p,h,g]=[0,1,2].map(w=>se(a,3*d+w,s)),m=f===null?{outcome:h,first:se(c,u++,s),second:g}:{outcome:p,first:h,second:g};return new Nc(f,m,n)});return t.registry.gpu.recycle(a,c),l}function*$E(t,e,r){for(let o of[!1,!0]){let n=t.flatMap(({needed:s},i)=>e[i].measurement.rttCode===null===o?s.map(a=>({prompt:i,index:a})):[]);for(let s=0;s<n.length;s+=r)yield{bytes:n.slice(s,s+r),areFailed:o}}}async function OE(t,e,{bytes:r,areFailed:o}){let n=G(t.config),s=o?[r.map(()=>8)]:[],i=await M_(t,e.length,{prompts:r.map(({prompt:a})=>a),steps:[...s,r.map(({index:a})=>11+X[a])]});r.forEach(({prompt:a,index:c},u)=>e[a].addSecondBytes(c,se(i,u,n))),t.registry.gpu.recycle(i)}async function M_(t,e,{prompts:r,steps:o}){if(r.length===0)return new Float32Array;let n=Array.from({length:e},()=>0);for(let i of r)n[i]++;t.fork(n,{numDropped:1});let s=await Promise.all(o.map(i=>t.step(i)));return t.registry.gpu.recycle(...s.slice(0,-1)),s[o.length-1]}var ME=2**14,Lc=class{maxContext;sequenceLength;maxKept;#e;#t;constructor(e,r=1/0,o=ME){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new Ls(this.maxContext,this.sequenceLength,this.maxKept/2),newestUs:0},{history:a}=i,c=PE(r)??i.newestUs+1,u=c<i.newestUs;i.newestUs=Math.max(i.newestUs,c);let l=E_(e),f=(u?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs,e)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function PE(t){let e=xs(String(t??""));return"timeUs"in e?e.timeUs:void 0}var IE=256;async function*I_(t,e,{context:r,seed:o,signal:n}){let s=new Lc(r,t.config.sequenceLength),i=[];for await(let a of e){let c=RE(a,s,t.config.sequenceLength);i.push(c),!(i.length<IE)&&(n?.throwIfAborted(),yield*P_(t,i,o),i=[])}n?.throwIfAborted(),yield*P_(t,i,o)}function RE({line:t,read:e},r,o){try{let n=Et(Os,e()),s=Is(n),i=r.contextOf(s,n.timestamp);return _e({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof y)return{line:t,error:n.message};throw n}}async function*P_(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await yr(()=>O_(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:c,rtt:u},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],h={src_addr:a,dst_addr:c,timestamp:l.timeS,rtt:u};yield{line:f+1,answer:{...h,log_likelihood:d,p_value:p}}}}function NE(t,e){let{rtt:r,prefix_length:o,...n}=Et(s_,e),{src_addr:s,timestamp:i,context:a,top:c,candidates:u,max_expansions:l}=n,f={...kc({src_addr:s,timestamp:i,context:a}),rttMs:r};As(r);let d=Ts(f,o),p=Kt({...f,destination:f.source},t.config.sequenceLength),h={src_addr:s,rtt:r,timestamp:f.timeS,prefix_length:d,context_measurements:p.length};return async g=>{let[m]=await Hw(t,[f],{...c!==void 0&&{top:c},...u!==void 0&&{numCandidates:u},...l!==void 0&&{maxExpansions:l},prefixLength:d,signal:g});return{...h,...$s(Fw(m,f.source,t)),step:t.step}}}var LE=8,CE=4,DE=.5;async function BE(t){let e=new Map,r={count:LE,seed:0,temperature:DE};for await(let{source:o,destination:n}of x_(t,{timeS:null,context:[]},r)){let s={src_addr:te(o),dst_addr:te(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,CE)}async function*UE(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],c=s?.then(f=>({next:f})),u=a?.then(f=>({value:f})),l=await Promise.race([u,c].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(ZE(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function ZE(t){return t.catch(()=>{}),t}var Cc=class{maxQueue;#e;#t;constructor(e=Ac){this.maxQueue=e,this.#e=new br,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Tc(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}};function qE(t,e,{step:r,trainingData:o}){let{query:{src:n,dst:s,source:i,destination:a,timeS:c},answer:u,numContextUsed:l}=t,f=S_(t);return{src_addr:n,dst_addr:s,timestamp:c,context_measurements:l,...$s(e_(u,e)),basis:qh(Bh(o,i,a)),...f.length>0&&{notes:f},step:r}}var jE=124,FE=20,Ds=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new Rs(e,o),this.#n=new Cc(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#a(Sc(e),{signal:r})}async rttBatch(e,r){return await Ic(this.#s(Mc(R_(e)),{},r))}rttLines(e,r={},o){return Rc(this.#s(Pc(e),r,o))}async destinations(e,r){let o=NE(this.#e,e);return await this.#i(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=Et(i_,e),s=Is(n),{context:i}=kc({...n,context:o});_e({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[c]=await this.#i(()=>Jw(this.#e,[a]),{signal:r});return{...n,timestamp:s.timeS,...$s(Yw(c)),step:this.#e.step}}async score(e,r={},o){return await Ic(this.#c(Mc(R_(e)),r,o))}scoreLines(e,r={},o){return Rc(this.#c(Pc(e),r,o))}async model(){return this.#r??=this.#i(()=>BE(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=Et(o_,r),s={lane:{},signal:o};yield*UE(e,async({line:a,read:c})=>{try{return{line:a,answer:await this.#a(Sc(c(),n),s)}}catch(u){if(!(u instanceof Error)||Ps(u).status!==400)throw u;return{line:a,error:u.message}}},jE)}async#a({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=v_(s,e,[]),c=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return qE(d,r,s)};if(ee(e.source)&&ee(e.destination))return await this.#o.ask(i,f=>c(Ns(f)),n);let u={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#i(async()=>c(await Oc(s,u,{...o,onProgress:l})),n)}async#i(e,r){return await this.#n.run(()=>yr(e),r)}async*#c(e,r,o){let{context:n=FE,seed:s=0}=Et(c_,r);yield*I_(this.#e,e,{context:n,seed:s,signal:o})}};function R_(t){if(Array.isArray(t))return t;throw new $e(400,"Cannot answer: found no array, expected one")}var Xe=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],Bs=class t{#e;#t;constructor(e,r){b(N_(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return b(r>0,"a calibration needs measurements"),new t(Xe.map((o,n)=>{if(n===0||n===Xe.length-1)return o;let s=VE(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=KE(e,r);if(!N_(o)){let c=`expected ${Xe.length} numbers that rise from 0 to 1`;throw new W(`its calibration is damaged, ${c}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new W(`${a}, expected one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026); run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return GE(Xe,this.#e,e)}massOf({below:e,within:r}){let o=Math.min(1,e+r),n=Xe.findIndex((a,c)=>a>e||c===Xe.length-1);if(o>Xe[n])return this.shareBelow(o)-this.shareBelow(e);let[s,i]=[Xe[n-1],Xe[n]];return r*(this.#e[n]-this.#e[n-1])/(i-s)}apply(e,r=new We){let{pFailed:o,probabilities:n,canonicalMass:s,spreadMass:i}=e,{probabilities:a,cumulative:c}=r,u=0,l=0;for(let f=0;f<n.length;f++){u+=n[f];let d=this.shareBelow(Math.min(1,u));a[f]=d-l,l=d}return new kt(o,a,s,i,c)}},HE=P({run:P({checkpoint:z(),step:O(),modelSha256:z()}),calibration:P({shares:q(v())})});function KE(t,e){try{return HE.parse(JSON.parse(t))}catch(r){let o=r instanceof ln&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="expected the report.json of an eval whose data has a validation split";throw new W(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function N_(t){return t.length===Xe.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function GE(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function VE({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}async function WE(t){let e=await C_(t,{cache:"no-cache"});return u_(await e.text(),t.href)}async function YE(t,e,r){let o=new Ms(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await JE(l,f,o,h=>r(i+h,n)),p=qc(f_(d,f.href),t.formatVersion,e.href);for(let[h,g]of p)s.set(h,g);i+=l.sizeBytes}let{step:a,config:c,model_sha256:u}=t.model;return{directory:e.href,config:{model:Sa(c.model)},state:{step:a,files:{model:{sha256:u}}},weights:s}}async function JE(t,e,r,o){o(0);let n=await r.get(t);if(n&&await L_(n,t)===void 0)return n;let s=await XE(t,e,o),i=await L_(s,t);if(i)throw new y(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function L_(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, expected ${e.slice(0,12)}\u2026: it was damaged or replaced`}async function XE({sizeBytes:t},e,r){let{body:o}=await C_(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new y(`Cannot use the model from ${e.href}: found ${a} bytes, expected ${t}; load the page again`);try{let a=o?.getReader();for(let c=await a?.read();c?.value;c=await a?.read()){if(s+c.value.length>t)throw i("more");n.set(c.value,s),s+=c.value.length,r(s)}}catch(a){throw a instanceof y?a:Dc(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function C_(t,e){let r;try{r=await fetch(t,e)}catch(o){throw Dc(t,"the server did not answer",o)}if(r.ok)return r;throw Dc(t,`the server answered ${r.status}`)}function Dc(t,e,r){return new y(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var QE=2**28,e2={src:"192.0.2.1",dst:"192.0.2.2"},t2=100,D_=globalThis,Sr=t=>D_.postMessage(t),Bc=new Map,Uc;D_.onmessage=async({data:t})=>{t.kind==="abort"?Bc.get(t.id)?.abort():t.kind==="ask"?await i2(t):await r2(new URL(t.site))};async function r2(t){try{Uc=await o2(t),Sr({kind:"ready"})}catch(e){Sr({kind:"status",status:{state:"failed",message:B_(e,"run the model here")}})}}async function o2(t){let e=await n2(),r=await WE(t);s2(r,e);let o=-1/0,n=await YE(r,t,(i,a)=>{performance.now()-o<t2||(o=performance.now(),Sr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});Sr({kind:"status",status:{state:"starting"}});let s=await bs.from(n,{memoryLimitBytes:QE,...r.calibration&&{calibration:new Bs(r.calibration)}});return await s.rttDistribution(e2),new Ds(s,{info:r.model})}async function n2(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new y(`Cannot run the model here: ${e}, expected WebGPU; ${r}`)}function s2({model:{config:t}},e){let r=Sa(t.model),o=mr(s=>jt(r,s)),n=Zt(e);if(!(o<=n))throw new y(`Cannot run the model here: its largest tensor has ${ct(o)}, expected at most ${ct(n)} on this GPU; open the page on a larger machine, or ask for a smaller model`)}async function i2({id:t,operation:e,args:r}){let o=new AbortController;Bc.set(t,o);try{if(!Uc)throw new y("Cannot answer: the model is not loaded");Sr({kind:"answer",id:t,answer:await a2(Uc,e,[...r,o.signal])})}catch(n){Sr({kind:"problem",id:t,detail:B_(n,"answer")})}finally{Bc.delete(t)}}async function a2(t,e,r){return await t[e].apply(t,r)}function B_(t,e){let{status:r,detail:o}=Ps(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
