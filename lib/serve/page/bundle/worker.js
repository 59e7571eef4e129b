var n_=Object.defineProperty;var Rs=(t,e)=>{for(var r in e)n_(t,r,{get:e[r],enumerable:!0})};var A={};Rs(A,{BIGINT_FORMAT_RANGES:()=>Ro,CONSTANT_CATCH:()=>$u,Class:()=>Ls,NUMBER_FORMAT_RANGES:()=>$r,aborted:()=>we,allowsEval:()=>Zs,assert:()=>l_,assertEqual:()=>s_,assertIs:()=>u_,assertNever:()=>c_,assertNotEqual:()=>i_,assignProp:()=>Ae,attachSchema:()=>Or,base64ToUint8Array:()=>Tu,base64urlToUint8Array:()=>$_,cached:()=>Ar,captureStackTrace:()=>Po,cleanEnum:()=>z_,cleanRegex:()=>Tr,clone:()=>Re,cloneDef:()=>p_,codePointLength:()=>Pr,constantCatch:()=>Ou,createTransparentProxy:()=>x_,defineLazy:()=>yu,defineLazyInternal:()=>L,derived:()=>R_,esc:()=>Bs,escapeRegex:()=>Qe,explicitlyAborted:()=>Fs,extend:()=>v_,finalizeIssue:()=>Ne,floatSafeRemainder:()=>Ds,getElementAtPath:()=>m_,getEnumValues:()=>Gt,getLengthableOrigin:()=>Mr,getParsedType:()=>__,getSizableOrigin:()=>Au,hexToUint8Array:()=>P_,hide:()=>Lo,installLazyProp:()=>C_,isObject:()=>Kt,isPlainObject:()=>ft,issue:()=>Vt,joinValues:()=>Oo,jsonStringifyReplacer:()=>Wt,members:()=>Ks,merge:()=>k_,mergeDefs:()=>Xe,normalizeParams:()=>k,nullish:()=>Cs,numKeys:()=>w_,objectClone:()=>f_,omit:()=>b_,optionalKeys:()=>qs,own:()=>lt,parsedType:()=>Hs,partial:()=>E_,pick:()=>y_,prefixIssues:()=>Ie,primitiveTypes:()=>ku,promiseAllObject:()=>h_,propertyKeyTypes:()=>js,randomString:()=>g_,rawShape:()=>zr,required:()=>A_,safeExtend:()=>S_,shallowClone:()=>Su,sizeCaps:()=>No,slugify:()=>Us,stringifyPrimitive:()=>Mo,toZod:()=>a_,uint8ArrayToBase64:()=>zu,uint8ArrayToBase64url:()=>O_,uint8ArrayToHex:()=>M_,unwrapMessage:()=>Ht});function s_(t){return t}function i_(t){return t}function a_(){return t=>t}function u_(t){}function c_(t){throw new Error("Unexpected value in exhaustive check")}function l_(t){}function Gt(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function Oo(t,e="|"){return t.map(r=>Mo(r)).join(e)}function Wt(t,e){return typeof e=="bigint"?e.toString():e}var Ns=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function Ar(t){return new Ns(t)}function Cs(t){return t==null}function Tr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function Ds(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var xu=Symbol("evaluating");function yu(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==xu)return o===void 0&&(o=xu,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function f_(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function Ae(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function zr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function Ye(t){return zr(t._zod.def)??t._zod.def.shape}function bu(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return Ae(this,e,o),o},enumerable:!0,configurable:!0})}function vu(t,e,r){e in t?Ae(t,e,r):t[e]=r}function St(t,e,r,o){let n=Ye(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?bu(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):vu(t,s,o?o(i.value,s):i.value))}}function d_(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?bu(t,r,()=>e[r]):vu(t,r,o.value))}}function Xe(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function p_(t){return Xe(t._zod.def)}function m_(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function h_(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function g_(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Bs(t){return JSON.stringify(t)}function Us(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var Po="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function Kt(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Zs=Ar(()=>{if(me.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function ft(t){if(Kt(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(Kt(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function Su(t){return ft(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function w_(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var __=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},js=new Set(["string","number","symbol"]),ku=new Set(["string","number","bigint","boolean","symbol","undefined"]);function Qe(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Re(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function k(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function x_(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function Mo(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function qs(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var $r={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},Ro={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function y_(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return St(s,t,Io(t,e)),Re(t,Xe(r,{shape:s,checks:[]}))}function Io(t,e){let r=Ye(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function b_(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(Io(t,e)),i={};return St(i,t,Reflect.ownKeys(Ye(t)).filter(a=>!s.has(a))),Re(t,Xe(r,{shape:i,checks:[]}))}function v_(t,e){if(!ft(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=Ye(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return Re(t,Xe(t._zod.def,{shape:Eu(t,e)}))}function Eu(t,e){let r={};return St(r,t,Reflect.ownKeys(Ye(t))),d_(r,e),r}function S_(t,e){if(!ft(e))throw new Error("Invalid input to safeExtend: expected a plain object");return Re(t,Xe(t._zod.def,{shape:Eu(t,e)}))}function k_(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};St(r,t,Reflect.ownKeys(Ye(t))),St(r,e,Reflect.ownKeys(Ye(e)));let o=Xe(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return Re(t,o)}function E_(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(Io(e,r)):void 0,u={};return St(u,e,Reflect.ownKeys(Ye(e)),t&&((c,l)=>a&&!a.has(l)?c:new t({type:"optional",innerType:c}))),Re(e,Xe(e._zod.def,{shape:u,checks:[]}))}function A_(t,e,r){let o=r?new Set(Io(e,r)):void 0,n={};return St(n,e,Reflect.ownKeys(Ye(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),Re(e,Xe(e._zod.def,{shape:n}))}function we(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Fs(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Ie(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function Ht(t){return typeof t=="string"?t:t?.message}function No(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function Or(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Ne(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:Ht(t.inst?._zod.def?.error?.(t))??Ht(s?.(t))??Ht(e?.error?.(t))??Ht(r.customError?.(t))??Ht(r.localeError?.(t))??"Invalid input",a={};for(let u of Object.keys(t))u==="inst"||u==="schema"||u==="continue"||u==="input"||u==="__proto__"||(a[u]=t[u]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function Au(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var T_=/[\uD800-\uDBFF]/;function Pr(t){let e=t.length;if(!T_.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function Mr(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Hs(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Vt(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function z_(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function Tu(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function zu(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function $_(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return Tu(e+r)}function O_(t){return zu(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function P_(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function M_(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var Ls=class{constructor(...e){}};function Ks(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):I_(t,r,o.value)}}function lt(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function Lo(t,e,r){return lt(t,e,r,!1)}function R_(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return lt(this,r,o(this))},set(n){lt(this,r,n)}})}return e}function I_(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:lt(this,e,r.bind(this))},set(o){lt(this,e,o)}})}function N_(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var Is,ct=!1,L_={configurable:!0,get(){ct=!0}};function L(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&Is!==t._zod){Is=void 0;return}Is=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,L_);let n=ct;ct=!1;try{let s=r(this);return ct?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),ct=ct||n,s}catch(s){throw delete this[e],ct=ct||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function C_(t,e,r,o){let n=N_(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var $u="~constantCatch";function Ou(t){let e=()=>t;return e[$u]=!0,e}var Pu;var Gs={value:void 0,enumerable:!1},Mu="captureStackTrace"in Error?Error:null;function D_(t){let e=Mu;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return Mu=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function w(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function u(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Gs.value=new s(p);try{Object.defineProperty(d,"_zod",Gs)}finally{Gs.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let h=Object.getPrototypeOf(d),g=d._zod.constr.prototype,_=h;for(;_&&_!==g;)_=Object.getPrototypeOf(_);let x=_??h;a.has(x)||(a.add(x),Ks(x,i))}let m=f.prototype;for(let h in m)Object.prototype.hasOwnProperty.call(m,h)&&(h in d||(d[h]=m[h].bind(d)))}let c=o?.Parent??Object;class l extends c{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?D_(l):this;u(p,d);let m=p._zod.deferred;if(m){for(let g of m)g();p._zod.deferred=void 0}let h=globalThis.__zod_globalConfig?.postProcessor;return h&&h(p),p}return Object.defineProperty(f,"init",{value:u}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Le=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},Jt=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(Pu=globalThis).__zod_globalConfig??(Pu.__zod_globalConfig={});var me=globalThis.__zod_globalConfig;function _e(t){return t&&Object.assign(me,t),me}function B_(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Wt,2)),t.message}function U_(t){this._zod.message=t}var Z_={get:B_,set:U_,enumerable:!0,configurable:!0},Vs={value:void 0,enumerable:!1},Ru=new WeakSet([Object.prototype,Error.prototype]),Iu=(t,e)=>{t.name="$ZodError",Vs.value=e,Object.defineProperty(t,"issues",Vs),Vs.value=void 0,Object.defineProperty(t,"message",Z_);let r=Object.getPrototypeOf(t);Ru.has(r)||(Ru.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},Nu=w("$ZodError",Iu),Gk=w("$ZodError",Iu,void 0,{Parent:Error});function j_(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function Lu(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?j_(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function Cu(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let u=r,c=0;for(;c<a.length;){let l=a[c],f=c===a.length-1;if(l==="_errors"){f&&u._errors.push(e(i)),c++;continue}Object.prototype.hasOwnProperty.call(u,l)||Object.defineProperty(u,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=u[l];f&&d._errors.push(e(i)),u=d,c++}}}};return o(t),r}function Co(t,e){return{callee:e?.callee??t,Err:e?.Err}}var Do=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Le;if(a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Ne(c,i,_e())));throw Po(u,s?.callee??e),u}return a.value};return e};var Bo=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Ne(c,i,_e())));throw Po(u,s?.callee??e),u}return a.value};return e};var Uo=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Le;return s.issues.length?Du(t,s.issues,n):{success:!0,data:s.value}};function Du(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Ne(n,r,_e()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Zo=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?Du(t,s.issues,n):{success:!0,data:s.value}};var q_=Symbol.for("zod.compile.invalid"),F_=Symbol.for("zod.compile.fallback"),Js=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==q_)return!0;if(o.definite===!0&&r===void 0)return!1}return H_(t,e,r)};function H_(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[F_]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Le;return s.issues.length===0}var Ys=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},Bu=t=>{let e=Do(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Co(r,i))};return r};var Uu=t=>{let e=Do(t),r=(o,n,s,i)=>e(o,n,s,Co(r,i));return r};var Zu=t=>{let e=Bo(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Co(r,i))};return r};var ju=t=>{let e=Bo(t),r=async(o,n,s,i)=>await e(o,n,s,Co(r,i));return r};var qu=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Uo(t)(e,r,n)};var Fu=t=>(e,r,o)=>Uo(t)(e,r,o);var Hu=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Zo(t)(e,r,n)};var Ku=t=>async(e,r,o)=>Zo(t)(e,r,o);var Gu=/^[cC][0-9a-z]{6,}$/,Wu=/^[0-9a-z]+$/,Vu=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,Ju=/^[0-9a-vA-V]{20}$/,Yu=/^[A-Za-z0-9]{27}$/,Xu=/^[a-zA-Z0-9_-]{21}$/;function Qu(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var ec=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var tc=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,Qs=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var rc=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var K_="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function oc(){return new RegExp(K_,"u")}var nc=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,sc=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var ic=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,ac=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,uc=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,cc=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var lc=/^https?$/,fc=/^\+[1-9]\d{6,14}$/;var dc="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function G_(t){return new RegExp(`^${t}$`)}var pc=G_(dc);function Xs(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function mc(t){return new RegExp(`^${Xs(t)}$`)}function hc(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${Xs({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${Xs({precision:t.precision})}`:r;return new RegExp(`^${dc}T(?:${o})$`)}var gc=/^[\s\S]{0,}$/;var wc=/^-?\d+n?$/,ei=/^-?\d+$/,Rr=/^-?\d+(?:\.\d+)?$/,_c=/^(?:true|false)$/i;var xc=/^[^A-Z]*$/,yc=/^[^a-z]*$/;var ne=w("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var ti=t=>{let e=t.value;return!Cs(e)&&e.length!==void 0},jo={number:"number",bigint:"bigint",object:"date"},ri=w("$ZodCheckLessThan",(t,e)=>{ne.init(t,e);let r=jo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:jo[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),oi=w("$ZodCheckGreaterThan",(t,e)=>{ne.init(t,e);let r=jo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:jo[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),bc=w("$ZodCheckMultipleOf",(t,e)=>{ne.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):Ds(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),vc=w("$ZodCheckNumberFormat",(t,e)=>{ne.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=$r[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var Sc=w("$ZodCheckMaxLength",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=ti),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?Pr(n):s)<=e.maximum)return;let a=Mr(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),kc=w("$ZodCheckMinLength",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=ti),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?Pr(n):s)>=e.minimum)return;let a=Mr(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),Ec=w("$ZodCheckLengthEquals",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=ti),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?Pr(n):s;if(i===e.length)return;let a=Mr(n),u=i>e.length;o.issues.push({origin:a,...u?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Nr=w("$ZodCheckStringFormat",(t,e)=>{var r,o;ne.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),Ac=w("$ZodCheckRegex",(t,e)=>{Nr.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),Tc=w("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=xc),Nr.init(t,e)}),zc=w("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=yc),Nr.init(t,e)}),$c=w("$ZodCheckIncludes",(t,e)=>{ne.init(t,e);let r=Qe(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),Oc=w("$ZodCheckStartsWith",(t,e)=>{ne.init(t,e);let r=new RegExp(`^${Qe(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),Pc=w("$ZodCheckEndsWith",(t,e)=>{ne.init(t,e);let r=new RegExp(`.*${Qe(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var Mc=w("$ZodCheckOverwrite",(t,e)=>{ne.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var qo=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var Ic={major:4,minor:6,patch:7};var U=w("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=Ic;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,u,c)=>{if(a.memo)return a;let l=we(a),f;for(let d of u){if(d._zod.def.when){if(Fs(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,m=d._zod.check(a);if(m instanceof Promise&&c?.async===!1)throw new Le;if(f||m instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await m,a.issues.length!==p&&(Or(a.issues,p,t),l||(l=we(a,p)))});else{if(a.issues.length===p)continue;Or(a.issues,p,t),l||(l=we(a,p))}}return f?f.then(()=>a):a},i=(a,u,c)=>{if(we(a))return a.aborted=!0,a;let l=s(u,n,c);if(l instanceof Promise){if(c.async===!1)throw new Le;return l.then(f=>t._zod.parse(f,c))}return t._zod.parse(l,c)};t._zod.run=(a,u)=>{if(u.skipChecks)return t._zod.parse(a,u);if(u.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...u,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,u)):i(l,a,u)}let c=t._zod.parse(a,u);if(c instanceof Promise){if(u.async===!1)throw new Le;return c.then(l=>s(l,n,u))}return s(c,n,u)}}},{get"~standard"(){return Lo(this,"~standard",si(this))},set"~standard"(t){lt(this,"~standard",t)}}),Wc=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Ne(r,e,_e()))}:{value:t.value};async function W_(t,e){let r={async:!0};return Wc(await t._zod.run({value:e,issues:[]},r),r)}function si(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return Wc(o,r)}catch{}return W_(t,e)},vendor:"zod",version:1}}var Go=w("$ZodString",(t,e)=>{U.init(t,e),t._zod.pattern=e.pattern??gc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),F=w("$ZodStringFormat",(t,e)=>{Nr.init(t,e),Go.init(t,e)}),Vc=w("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=tc),F.init(t,e)}),Jc=w("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=Qs(o))}else e.pattern??(e.pattern=Qs());F.init(t,e)}),Yc=w("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=rc),F.init(t,e)}),Xc=1,Ho=2;function Qc(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function V_(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?Qc(t)||Ho:J_(t,e)}function J_(t,e){if(!e.normalize&&e.protocol?.source===lc.source&&!/^https?:\/\//i.test(t))return Xc;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??Ho}return new URL(t)}catch{return Ho}}var Y_=/[\t\n\r]/g;function Nc(t){return t.replace(Y_,"")}function X_(t,e){return e.lastIndex=0,e.test(t.hostname)}function Q_(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var el=w("$ZodURL",(t,e)=>{F.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=V_(o,e);if(n===Xc){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===Ho){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=Nc(o);return}e.hostname&&!X_(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!Q_(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:Nc(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),tl=w("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=oc()),F.init(t,e)}),rl=w("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?Xu:Qu(e.length)),F.init(t,e)}),ol=w("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Gu),F.init(t,e)}),nl=w("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=Wu),F.init(t,e)}),sl=w("$ZodULID",(t,e)=>{e.pattern??(e.pattern=Vu),F.init(t,e)}),il=w("$ZodXID",(t,e)=>{e.pattern??(e.pattern=Ju),F.init(t,e)}),al=w("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=Yu),F.init(t,e)}),ul=w("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=hc(e)),F.init(t,e)}),cl=w("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=pc),F.init(t,e)}),ll=w("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=mc(e)),F.init(t,e)}),fl=w("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=ec),F.init(t,e)}),dl=w("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=nc),F.init(t,e)}),ex=/^[0-9a-fA-F:.]+$/;function pl(t){return ex.test(t)?Qc(`http://[${t}]`):!1}var ml=w("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=sc),F.init(t,e),t._zod.check=r=>{pl(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var hl=w("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=ic),F.init(t,e)});function tx(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:pl(r)}var gl=w("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=ac),F.init(t,e),t._zod.check=r=>{tx(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function wl(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var ii=/^[0-9a-zA-Z+/]*={0,2}$/,_l=w("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=ii),F.init(t,e),t._zod.check=r=>{wl(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),Wo=/^[A-Za-z0-9_-]*$/;function rx(t){if(!Wo.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return wl(r)}var xl=w("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=Wo),F.init(t,e),t._zod.check=r=>{rx(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),yl=w("$ZodE164",(t,e)=>{e.pattern??(e.pattern=fc),F.init(t,e)});function ox(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var bl=w("$ZodJWT",(t,e)=>{F.init(t,e),t._zod.check=r=>{ox(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var ai=w("$ZodNumber",(t,e)=>{U.init(t,e),t._zod.pattern=Rr,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),vl=w("$ZodNumberFormat",(t,e)=>{vc.init(t,e),ai.init(t,e)}),Sl=w("$ZodBoolean",(t,e)=>{U.init(t,e),t._zod.pattern=_c,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),kl=w("$ZodBigInt",(t,e)=>{U.init(t,e),t._zod.pattern=wc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var El=w("$ZodUnknown",(t,e)=>{U.init(t,e),t._zod.parse=r=>r}),Al=w("$ZodNever",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var Tl=w("$ZodDate",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function nx(t,e){let r=No(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[u,c]of No(t._zod.def.checks))if(a>u&&c._zod.def.when(s)){let l=s.issues.length;return c._zod.check(s),s.issues[l].continue=!1,Or(s.issues,l,t),s}}return n(s,i)}}var sx=t=>Array.isArray(t)?t.length:-1;function Lc(t,e,r){t.issues.length&&e.issues.push(...Ie(r,t.issues)),e.value[r]=t.value}var zl=w("$ZodArray",(t,e)=>{U.init(t,e);let r=me.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let u=0;u<s.length;u++){let c=s[u],l=e.element._zod.run({value:c,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>Lc(f,o,u)));else if(Lc(l,o,u),a&&l.issues.length!==0&&we(l))break}return i.length?Promise.all(i).then(()=>o):o},nx(t,sx)});function Ko(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Ie(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var ix=[];function $l(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:ix,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=qs(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function Ol(t,e,r,o,n,s,i){let a=[],u=n.keySet,c=n.catchall._zod,l=c.def.type,f=c.optin,d=c.optout,p=0;for(let m in e){if(i&&r.issues.length!==p){if(we(r,p))break;p=r.issues.length}if(u.has(m))continue;if(m==="__proto__"){l==="never"&&a.push(m);continue}if(l==="never"){a.push(m);continue}let h=c.run({value:e[m],issues:[]},o);h instanceof Promise?t.push(h.then(g=>Ko(g,r,m,e,f,d))):Ko(h,r,m,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var ax=w("$ZodObject",(t,e)=>{U.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let c=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),c.raw=l,l};c.raw=o,Object.defineProperty(e,"shape",{get:c})}let n=Ar(()=>$l(e));L(t,"propValues",c=>{let l=c.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||Ae(f,d,new Set);for(let m of p.values)f[d].add(m);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=Kt,i=e.catchall,a,u=me.memoizer;u?.attach(t),t._zod.parse=(c,l)=>{a??(a=n.value);let f=c.value;if(!s(f))return c.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),c;c.value=u?u.alloc(t,c,{},l):{};let d=[],p=a.shape,m=l?.abortEarly,h=c.issues.length;for(let g of a.allKeys){if(m&&c.issues.length!==h){if(we(c,h))break;h=c.issues.length}if(g==="__proto__")continue;let _=p[g],x=_._zod.optin,T=_._zod.optout,R=_._zod.run({value:f[g],issues:[]},l);R instanceof Promise?d.push(R.then(E=>Ko(E,c,g,f,x,T))):Ko(R,c,g,f,x,T)}return i?Ol(d,f,c,l,n.value,t,m===!0):d.length?Promise.all(d).then(()=>c):c}}),Pl=w("$ZodObjectJIT",(t,e)=>{ax.init(t,e);let r=t._zod.parse,o=Ar(()=>$l(e)),n=me.memoizer,s=p=>{let m=o.value,h=m.symbolKeys,g=new qo(["payload","ctx"],{shape:p,inst:t,memo:n,syms:h}),_=E=>`shape[${E}]._zod.run({ value: input[${E}], issues: [] }, ctx)`,x=(E,z)=>`
          let ${E}_ab = false;
          for (let i = 0; i < ${E}.issues.length; i++) {
            const iss = ${E}.issues[i];
            iss.path = iss.path ? [${z}, ...iss.path] : [${z}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${E}_ab = true;
          }
          if (${E}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;g.write("const input = payload.value;");let T=Object.create(null),R=0;for(let E of m.allKeys)T[E]=`key_${R++}`;g.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let E of m.allKeys){if(E==="__proto__")continue;let z=T[E],N=typeof E=="symbol"?`syms[${h.indexOf(E)}]`:Bs(E),j=`${N} in input`,de=p[E],Ee=de?._zod?.optin,vt=Ee!==void 0,G=de?._zod?.optout==="optional";if(g.write(`const ${z} = ${_(N)};`),vt&&G){let He=Ee==="optional"?`${z}_present`:`${z}.value !== undefined || ${z}_present`;g.write(`
        const ${z}_present = ${j};
        if (!${z}.issues.length || ${z}_present) {
          if (${z}.issues.length) {${x(z,N)}
          }

          if (${He}) {
            newResult[${N}] = ${z}.value;
          }
        }

      `)}else vt?(g.write(`
        if (${z}.issues.length) {${x(z,N)}
        }
      `),Ee==="defaulted"?g.write(`newResult[${N}] = ${z}.value;`):g.write(`
        if (${z}.value !== undefined || ${j}) {
          newResult[${N}] = ${z}.value;
        }
      `)):g.write(`
        const ${z}_present = ${j};
        if (${z}.issues.length) {${x(z,N)}
        }
        if (!${z}_present && !${z}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${N}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${z}_present) {
          newResult[${N}] = ${z}.value;
        }

      `)}return g.write("payload.value = newResult;"),g.write("return payload;"),g.compile()},i,a=Kt,u=!me.jitless,l=u&&Zs.value,f=e.catchall,d;t._zod.parse=(p,m)=>{d??(d=o.value);let h=p.value;return a(h)?u&&l&&m?.async===!1&&m.jitless!==!0?(i||(i=s(e.shape)),p=i(p,m),f?Ol([],h,p,m,d,t,m?.abortEarly===!0):p):r(p,m):(p.issues.push({expected:"object",code:"invalid_type",input:h,inst:t}),p)}});function Cc(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!we(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Ne(i,o,_e())))}),e)}var Ml=w("$ZodUnion",(t,e)=>{U.init(t,e),L(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),L(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),L(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),L(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>Tr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let u=a._zod.run({value:o.value,issues:[]},n);if(u instanceof Promise)i.push(u),s=!0;else{if(u.issues.length===0)return u;i.push(u)}}return s?Promise.all(i).then(a=>Cc(a,o,t,n)):Cc(i,o,t,n)}});var Rl=w("$ZodIntersection",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([u,c])=>Dc(r,u,c)):Dc(r,s,i)}});function ni(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(ft(t)&&ft(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=ni(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=ni(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function Dc(t,e,r){let o=new Map,n,s=new Map,i=(c,l)=>{let f;if(c.code==="unrecognized_keys"&&!c.path?.length)n??(n=c),f=c.keys;else if(c.code==="invalid_key"&&c.origin==="record"&&c.path?.length===1){let d=String(c.path[0]);s.has(d)||s.set(d,c),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let c of e.issues)i(c,"l")||t.issues.push(c);for(let c of r.issues)i(c,"r")||t.issues.push(c);let a=[...o].filter(([,c])=>c.l&&c.r).map(([c])=>c);if(a.length){let c=n?a.filter(l=>n.keys.includes(l)):[];c.length&&t.issues.push({...n,keys:c});for(let l of a)!c.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let u=ni(e.value,r.value);if(!u.valid){if(we(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(u.mergeErrorPath)}`)}return t.value=u.data,t}var Il=w("$ZodTuple",(t,e)=>{U.init(t,e);let r=e.items,o=me.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],u=Bc(r,"optin"),c=Bc(r,"optout");if(!e.rest){if(i.length<u)return n.issues.push({code:"too_small",minimum:u,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let m=r[p]._zod.run({value:i[p],issues:[]},s);m instanceof Promise?a.push(m.then(h=>{l[p]=h})):(l[p]=m,f&&!d&&m.issues.length&&(d=we(m)))}if(e.rest&&!d){let p=r.length-1,m=i.slice(r.length),h=n.issues.length;for(let g of m){if(f&&n.issues.length!==h){if(we(n,h))break;h=n.issues.length}p++;let _=e.rest._zod.run({value:g,issues:[]},s);_ instanceof Promise?a.push(_.then(x=>Uc(x,n,p))):Uc(_,n,p)}}return a.length?Promise.all(a).then(()=>Zc(l,n,r,i,c)):Zc(l,n,r,i,c)}});function Bc(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function Uc(t,e,r){t.issues.length&&e.issues.push(...Ie(r,t.issues)),e.value[r]=t.value}function Zc(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Ie(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var Nl=w("$ZodRecord",(t,e)=>{U.init(t,e);let r=me.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!ft(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let u=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(u.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(m=>Ne(m,n,_e())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Ie(l,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Ie(l,p.issues)),o.value[d]=p.value)}let c;for(let l in s)if(!u.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else c=c??[],c.push(l);c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let u;for(let c of Reflect.ownKeys(s)){if(c==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,c))continue;let l=e.keyType._zod.run({value:c,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof c=="string"&&Rr.test(c)&&l.issues.length){let m=e.keyType._zod.run({value:Number(c),issues:[]},n);if(m instanceof Promise)throw new Error("Async schemas not supported in object keys currently");m.issues.length===0&&(l=m)}if(l.issues.length){e.mode==="loose"?o.value[c]=s[c]:a?(u=u??[],u.push(c)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(m=>Ne(m,n,_e())),input:c,path:[c],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[c],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Ie(c,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Ie(c,p.issues)),o.value[d]=p.value)}u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var Ll=w("$ZodEnum",(t,e)=>{U.init(t,e);let r=Gt(e.entries),o=new Set(r);t._zod.values=o,L(t,"pattern",n=>{let s=Gt(n.def.entries).filter(i=>js.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>Qe(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),Cl=w("$ZodLiteral",(t,e)=>{U.init(t,e);let r=new Set(e.values);t._zod.values=r,L(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?Qe(s):s?Qe(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var Dl=w("$ZodTransform",(t,e)=>{U.init(t,e),t._zod.optin="optional",me.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Jt(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Le;return r.value=n,r}});function jc(t,e){return t.value=e.issues.length?void 0:e.value,t}var ui=w("$ZodOptional",(t,e)=>{U.init(t,e),L(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",L(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),L(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Tr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>jc(r,s)):jc(r,n)}return e.innerType._zod.run(r,o)}}),Bl=w("$ZodExactOptional",(t,e)=>{ui.init(t,e),L(t,"values",r=>r.def.innerType._zod.values),L(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),Ul=w("$ZodNullable",(t,e)=>{U.init(t,e),L(t,"optin",r=>r.def.innerType._zod.optin),L(t,"optout",r=>r.def.innerType._zod.optout),L(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Tr(o.source)}|null)$`):void 0}),L(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),Zl=w("$ZodDefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",L(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>qc(s,e)):qc(n,e)}});function qc(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var jl=w("$ZodPrefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",L(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),ql=w("$ZodNonOptional",(t,e)=>{U.init(t,e),L(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Fc(s,t)):Fc(n,t)}});function Fc(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function Hc(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Ne(n,o,_e()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var Fl=w("$ZodCatch",(t,e)=>{U.init(t,e),L(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),L(t,"optout",r=>r.def.innerType._zod.optout),L(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Hc(r,s,e,o)):Hc(r,n,e,o)}});var Hl=w("$ZodPipe",(t,e)=>{U.init(t,e),L(t,"values",r=>r.def.in._zod.values),L(t,"optin",r=>r.def.in._zod.optin),L(t,"optout",r=>r.def.out._zod.optout),L(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Fo(i,e.in,o)):Fo(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Fo(s,e.out,o)):Fo(n,e.out,o)}});function Fo(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Kl=w("$ZodReadonly",(t,e)=>{U.init(t,e),L(t,"propValues",r=>r.def.innerType._zod.propValues),L(t,"values",r=>r.def.innerType._zod.values),L(t,"optin",r=>r.def.innerType?._zod?.optin),L(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Kc):Kc(n)}});function Kc(t){return t.memo||(t.value=Object.freeze(t.value)),t}var Gl=w("$ZodCustom",(t,e)=>{ne.init(t,e),U.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>Gc(s,r,o,t));Gc(n,r,o,t)}});function Gc(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Vt(n))}}var li=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},fi="~memo",Wl=[];function Vl(t){return t!==null&&typeof t=="object"}function ci(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var Jl=new WeakMap,Lr=0,Yo=1,Cr=2;function Xo(t,e,r){let o=Jl.get(t);if(o!==void 0)return o?Cr:Lr;if(e.has(t))return Cr;e.add(t);let n=Lr,s=l=>{if(n!==Cr&&l?._zod){let f=Xo(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Lr;for(let p of Reflect.ownKeys(l)){let m=Object.getOwnPropertyDescriptor(l,p);if(f&&!m.enumerable)continue;let h=m.get?Yo:m.value?._zod?Xo(m.value,e,r):Lr;h>d&&(d=h)}return d},a=l=>{l>n&&(n=l)},u=t._zod.def,c=u.type;switch(c){case"object":{let l=zr(u);a(l?i(l,!0):Yo),s(u.catchall);break}case"array":s(u.element);break;case"tuple":for(let l of u.items)s(l);s(u.rest);break;case"record":case"map":s(u.keyType),s(u.valueType);break;case"set":s(u.valueType);break;case"union":for(let l of u.options)s(l);break;case"intersection":s(u.left),s(u.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(u.innerType);break;case"pipe":s(u.in),s(u.out);break;case"function":s(u.input),s(u.output);break;case"lazy":{let l=u._cachedInner??(r?t._zod.innerType:void 0);a(l?Xo(l,e,!1):Yo);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in u){let f=Object.getOwnPropertyDescriptor(u,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),ux(t,n)}function ux(t,e){return e!==Yo&&Jl.set(t,e===Cr),e}function cx(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var Vo,Jo=[],lx={alloc(t,e,r){let o=Vo;if(!o)return r;Vo=void 0;let n={value:r,issues:null};return o.set(e.value,n),Jo.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&fx(s,n.value))throw new li;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(u,c)=>{if(r===void 0){let _=Xo(t,new Set,!1);if(_===Lr)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(u,c);_===Cr||o?r=!0:o=!0}let l=u.value;if(!Vl(l))return i(u,c);let f=c[fi];f||(f={buckets:new WeakMap,backEdges:void 0},c[fi]=f);let d;n===c?d=s:(d=cx(f,t),n=c,s=d);let p=d.get(l);if(p)return u.value=p.value,p.issues?p.issues.length&&u.issues.push(...ci(p.issues)):(u.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),u;Vo=d;let m=Jo.length,h=i(u,c);Vo=void 0;let g=Jo.length>m?Jo.pop():void 0;return h instanceof Promise?h.then(_=>(g&&(g.issues=_.issues.length?ci(_.issues):Wl),_)):(g&&(g.issues=h.issues.length?ci(h.issues):Wl),h)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Yl(){return lx}function fx(t,e){let r=t[fi]?.backEdges;return r!==void 0&&Vl(e)&&r.has(e)}var dx=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Hs(s.input),u=n(a,s.input);return`Invalid input: expected ${i}, received ${u}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${Mo(s.values[0])}`:`Invalid option: expected one of ${Oo(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${Oo(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function Xl(){return{localeError:dx()}}var Ql;var di=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function px(){return new di}(Ql=globalThis).__zod_globalRegistry??(Ql.__zod_globalRegistry=px());var kt=globalThis.__zod_globalRegistry;function Qo(t){return t.checks&&(t.checks=[...t.checks]),t}function ef(t,e){return new t(Qo({type:"string",...k(e)}))}function tf(t,e){return new t(Qo({type:"string",coerce:!0,...k(e)}))}function rf(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...k(e)})}function of(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...k(e)})}function nf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...k(e)})}function sf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...k(e)})}function af(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...k(e)})}function uf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...k(e)})}function cf(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...k(e)})}function lf(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...k(e)})}function ff(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...k(e)})}function df(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...k(e)})}function pf(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...k(e)})}function mf(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...k(e)})}function hf(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...k(e)})}function gf(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...k(e)})}function wf(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...k(e)})}function _f(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...k(e)})}function xf(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...k(e)})}function yf(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...k(e)})}function bf(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...k(e)})}function vf(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...k(e)})}function Sf(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...k(e)})}function kf(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...k(e)})}function Ef(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...k(e)})}function Af(t,e){return new t({type:"string",format:"date",check:"string_format",...k(e)})}function Tf(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...k(e)})}function zf(t,e){return new t({type:"string",format:"duration",check:"string_format",...k(e)})}function $f(t,e){return new t(Qo({type:"number",checks:[],...k(e)}))}function Of(t,e){return new t(Qo({type:"number",coerce:!0,checks:[],...k(e)}))}function Pf(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...k(e)})}function Mf(t,e){return new t({type:"boolean",...k(e)})}function Rf(t,e){return new t({type:"boolean",coerce:!0,...k(e)})}function If(t,e){return new t({type:"bigint",coerce:!0,...k(e)})}function Nf(t){return new t({type:"unknown"})}function Lf(t,e){return new t({type:"never",...k(e)})}function Cf(t,e){return new t({type:"date",coerce:!0,...k(e)})}function Yt(t,e){return new ri({check:"less_than",...k(e),value:t,inclusive:!1})}function et(t,e){return new ri({check:"less_than",...k(e),value:t,inclusive:!0})}function Xt(t,e){return new oi({check:"greater_than",...k(e),value:t,inclusive:!1})}function tt(t,e){return new oi({check:"greater_than",...k(e),value:t,inclusive:!0})}function Dr(t,e){return new bc({check:"multiple_of",...k(e),value:t})}function en(t,e){return new Sc({check:"max_length",...k(e),maximum:t})}function Qt(t,e){return new kc({check:"min_length",...k(e),minimum:t})}function tn(t,e){return new Ec({check:"length_equals",...k(e),length:t})}function pi(t,e){return new Ac({check:"string_format",format:"regex",...k(e),pattern:t})}function mi(t){return new Tc({check:"string_format",format:"lowercase",...k(t)})}function hi(t){return new zc({check:"string_format",format:"uppercase",...k(t)})}function gi(t,e){return new $c({check:"string_format",format:"includes",...k(e),includes:t})}function wi(t,e){return new Oc({check:"string_format",format:"starts_with",...k(e),prefix:t})}function _i(t,e){return new Pc({check:"string_format",format:"ends_with",...k(e),suffix:t})}function dt(t){return new Mc({check:"overwrite",tx:t})}function xi(t){return dt(e=>e.normalize(t))}function yi(){return dt(t=>t.trim())}function bi(){return dt(t=>t.toLowerCase())}function vi(){return dt(t=>t.toUpperCase())}function Si(){return dt(t=>Us(t))}function Df(t,e,r){return new t({type:"array",element:e,...k(r)})}function Bf(t,e,r){return new t({type:"custom",check:"custom",fn:e,...k(r)})}function Uf(t,e){let r=mx(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Vt(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Vt(s))}},t(o.value,o)),e);return r}function mx(t,e){let r=new ne({check:"custom",...k(e)});return r._zod.check=t,r}function Br(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&Ae(t,o,r[o]);return t}function Ei(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??kt,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Ce(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function W(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),W(f,e,l),e.seen.get(f).isParent=!0)}let u=e.metadataRegistry.get(t);return u&&Br(i.schema,u),e.io==="input"&&he(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function Zf(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function Ai(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let u=o.get(a);if(u&&u!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(m=>m);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${Zf(p)}`}}let u="#",c=`${u}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:u};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:c+Zf(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:u,defId:c}=n(i);a.def={...a.schema},c&&(a.defId=c);let l=a.schema;for(let f in l)delete l[f];l.$ref=u};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let c=t.external.registry.get(i[0])?.id;if(e!==i[0]&&c){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function Ff(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;Ff(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var Hf=new Set(["type","properties","required","additionalProperties"]),jf=["oneOf","anyOf"];function qf(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function ki(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!Hf.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let c of e){let l=c.properties?.[i]??qf(c);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let u=a.length===1?a[0]:ki(a)??{allOf:a};Ae(r,i,u)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=qf(i);a&&!s.some(u=>JSON.stringify(u)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function hx(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of Hf)if(n in t)return;let r=e.filter(n=>jf.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=ki(e);else{let n=r[0],s=jf.find(u=>Array.isArray(n[u]));if(Object.keys(n).length!==1)return;let i=e.filter(u=>u!==n),a=n[s].map(u=>ki([...i,u]));if(a.some(u=>!u))return;o={[s]:a}}o&&(delete t.allOf,Br(t,o))}function Ti(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let u=t.seen.get(a);if(u.ref===null)return;let c=u.def??u.schema,l={...c},f=u.ref;if(u.ref=null,f){o(f);let p=t.seen.get(f),m=p.schema;if(m.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(c.allOf=c.allOf??[],c.allOf.push(m)):Br(c,m),Br(c,l),a._zod.parent===f)for(let g in c)g==="$ref"||g==="allOf"||g in l||delete c[g];if(m.$ref&&p.def)for(let g in c)g==="$ref"||g==="allOf"||g in p.def&&JSON.stringify(c[g])===JSON.stringify(p.def[g])&&delete c[g]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(c.$ref=p.schema.$ref,p.def))for(let m in c)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(c[m])===JSON.stringify(p.def[m])&&delete c[m]}t.override({zodSchema:a,jsonSchema:c,path:u.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())Ff(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let u of t.seen.values())for(let c of[u.schema,u.def]){let l=c?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(c):a.set(l,[c])}for(let u of t.intersections)for(let c of a.get(u)??[])hx(c)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Br(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let u=a[1];u.def&&u.defId&&(u.def.id===u.defId&&delete u.def.id,Ae(i,u.defId,u.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Ur(e,"input",t.processors),output:Ur(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function he(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return he(o.element,r);if(o.type==="set")return he(o.valueType,r);if(o.type==="lazy")return he(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return he(o.innerType,r);if(o.type==="intersection")return he(o.left,r)||he(o.right,r);if(o.type==="record"||o.type==="map")return he(o.keyType,r)||he(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:he(o.in,r)||he(o.out,r);if(o.type==="object"){for(let n in o.shape)if(he(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(he(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(he(n,r))return!0;return!!(o.rest&&he(o.rest,r))}return!1}var Kf=(t,e={})=>r=>{let o=Ei({...r,processors:e});return W(t,o),Ai(o,t),Ti(o,t)},Ur=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=Ei({...n??{},target:s,io:e,processors:r});return W(t,i),Ai(i,t),Ti(i,t)};var er=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},tr=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Gf=(t,e)=>{er(t,"minimum",e),tr(t,"maximum",e)},Yf=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},Xf=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},Qf=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},ed=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},Wf=(t,e)=>er(t,"minimum",e.minimum),Vf=(t,e)=>tr(t,"maximum",e.maximum),Jf=t=>(e,r)=>{ed(e,r.format);let[o,n]=t[r.format];er(e,"minimum",o),tr(e,"maximum",n)},gx={greater_than:(t,e)=>er(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>tr(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>Yf(t,e.value),number_format:Jf($r),bigint_format:Jf(Ro),min_length:Wf,max_length:Vf,length_equals:(t,e)=>Gf(t,e.length),min_size:Wf,max_size:Vf,size_equals:(t,e)=>Gf(t,e.size),string_format:(t,e)=>{ed(t,e.format),e.pattern&&Xf(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>Qf(t,e.mime)};function ee(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)gx[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&er(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&er(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&tr(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&tr(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&Yf(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&Qf(e,n.mime);for(let s of n.patterns??[])Xf(e,s);return e}var wx={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},_x=new Map([[ii,uc],[Wo,cc]]),td=t=>_x.get(t)??t,rd=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:u,contentEncoding:c,laxFormat:l}=ee(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=wx[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),c&&(n.contentEncoding=c),u&&u.size>0){let f=[...u].map(td);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},od=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:u,exclusiveMinimum:c,isInt:l}=ee(t);n.type=l?"integer":"number";let f=typeof c=="number"&&c>=(s??Number.NEGATIVE_INFINITY),d=typeof u=="number"&&u<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=c,n.exclusiveMinimum=!0):n.exclusiveMinimum=c:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=u,n.exclusiveMaximum=!0):n.exclusiveMaximum=u:typeof i=="number"&&(n.maximum=i),a){let m=new Set;for(let _ of a)Number.isFinite(_)&&_!==0?m.add(Math.abs(_)):Ce(t,e,n,o,`A multipleOf divisor of ${_} cannot be represented in JSON Schema`);let[h,...g]=m;h!==void 0&&(n.multipleOf=h),g.length&&(n.allOf=[...n.allOf??[],...g.map(_=>({multipleOf:_}))])}},nd=(t,e,r,o)=>{r.type="boolean"},sd=(t,e,r,o)=>{Ce(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var id=(t,e,r,o)=>{r.not={}};var ad=(t,e,r,o)=>{},ud=(t,e,r,o)=>{Ce(t,e,r,o,"Date cannot be represented in JSON Schema")},cd=(t,e,r,o)=>{let n=t._zod.def,s=Gt(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},ld=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Ce(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Ce(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var fd=(t,e,r,o)=>{Ce(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var dd=(t,e,r,o)=>{Ce(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var pd=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=ee(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=W(s.element,e,{...o,path:[...o.path,"items"]})};function Zr(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Zr(e.out):e.type==="catch"?Zr(e.innerType):t._zod.optin}var md=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Ce(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let c in i)Ae(n.properties,c,W(i[c],e,{...o,path:[...o.path,"properties",c]}));let u=[];for(let c of Object.keys(i)){let l=s.shape[c];(e.io==="input"?Zr(l)===void 0:l._zod.optout===void 0)&&u.push(c)}u.length>0&&(n.required=u),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=W(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},hd=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,u)=>W(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",u]}));s?r.oneOf=i:r.anyOf=i},gd=(t,e,r,o)=>{let n=t._zod.def,s=W(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=W(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=c=>"allOf"in c&&Object.keys(c).length===1,u=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=u,e.intersections.push(u)},wd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",u=s.items.map((h,g)=>W(h,e,{...o,path:[...o.path,i,g]})),c=s.rest?W(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let h=s.items[l-1];if(!(e.io==="input"?Zr(h)!==void 0:h._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=u,d?n.items=!1:c&&(n.items=c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:u},c&&n.items.anyOf.push(c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=u,d?n.additionalItems=!1:c&&(n.additionalItems=c),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:m}=ee(t);typeof p=="number"&&(n.minItems=p),typeof m=="number"&&(n.maxItems=m)};function zi(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let m=t.get(e)?.def;if(!m)return e;let h=zi(t,m,r);return h===m?e:h}for(let m of["anyOf","oneOf"]){let h=e[m];if(!Array.isArray(h))continue;let g=h.map(_=>zi(t,_,r));g.some((_,x)=>_!==h[x])&&(e={...e,[m]:g})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(m=>m==="number"||m==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(m=>typeof m=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:u,exclusiveMaximum:c,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(m=>typeof m=="number"?String(m):m):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?Rr:ei).source)),p}var $i=new WeakMap;function xx(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of $i.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=zi(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var _d=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=ee(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=W(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)Ae(n.patternProperties,td(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=W(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=$i.get(e);l||(l=[],$i.set(e,l),e.deferred.push(()=>xx(e))),l.push(t)}n.additionalProperties=W(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let u=i._zod.values,c=e.io==="input"&&Zr(s.valueType)!==void 0;if(u&&!s.partial&&!c){let l=[...u].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},xd=(t,e,r,o)=>{let n=t._zod.def,s=W(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},yd=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},Oi=Symbol();function bd(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,u)=>typeof u!="bigint"?u:(s=!0,null));return s?(Ce(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),Oi):JSON.parse(i)}var vd=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=bd(n.defaultValue,t,e,r,o);i!==Oi&&(r.default=i)},Sd=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=bd(n.defaultValue,t,e,r,o);i!==Oi&&(r._prefault=i)},kd=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Ce(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},Ed=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;W(i,e,o);let a=e.seen.get(t);a.ref=i},Ad=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var Pi=(t,e,r,o)=>{let n=t._zod.def;W(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var Td=new WeakSet([Object.prototype,Error.prototype]);function rn(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var zd=(t,e)=>{Nu.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);Td.has(r)||(Td.add(r),rn(r,"format",o=>n=>Cu(o,n)),rn(r,"flatten",o=>n=>Lu(o,n)),rn(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Wt,2)}),rn(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Wt,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},on=w("ZodError",zd),xe=w("ZodError",zd,void 0,{Parent:Error});var $d=Do(xe),Od=Bo(xe),Pd=Uo(xe),Md=Zo(xe),Rd=Bu(xe),Id=Uu(xe),Nd=Zu(xe),Ld=ju(xe),Cd=qu(xe),Dd=Fu(xe),Bd=Hu(xe),Ud=Ku(xe);function $x(){me.localeError||_e(Xl())}function qr(){me.memoizer||_e({memoizer:Yl()})}var q=w("ZodType",(t,e)=>($x(),U.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(A.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return Re(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(wy(t,e))},superRefine(t,e){return this.check(_y(t,e))},overwrite(t){return this.check(dt(t))},optional(){return jd(this)},exactOptional(){return ay(this)},nullable(){return qd(this)},nullish(){return jd(qd(this))},nonoptional(t){return ly(this,t)},array(){return J(this)},or(t){return Li([this,t])},and(t){return oy(this,t)},transform(t){return Fd(this,iy(t))},default(t){return uy(this,t)},prefault(t){return cy(this,t)},catch(t){return dy(this,t)},pipe(t){return Fd(this,t)},readonly(){return hy(this)},describe(t){let e=this.clone();return kt.add(e,{description:t}),e},meta(...t){if(t.length===0)return kt.get(this);let e=this.clone();return kt.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return A.hide(this,"~standard",{...si(this),jsonSchema:{input:Ur(this,"input"),output:Ur(this,"output")}})},set"~standard"(t){A.own(this,"~standard",t)},parse:function t(e,r){return $d(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await Od(this,e,r,{callee:t})},safeParse(t,e){return Pd(this,t,e)},async safeParseAsync(t,e){return Md(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){A.own(this,"spa",t)},validate(t,e){return Js(this,t,e)},validateAsync(t,e){return Ys(this,t,e)},encode:function t(e,r){return Rd(this,e,r,{callee:t})},decode:function t(e,r){return Id(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await Nd(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await Ld(this,e,r,{callee:t})},safeEncode(t,e){return Cd(this,t,e)},safeDecode(t,e){return Dd(this,t,e)},async safeEncodeAsync(t,e){return Bd(this,t,e)},async safeDecodeAsync(t,e){return Ud(this,t,e)},toJSONSchema(t){return Kf(this,{})(t)},get description(){return kt.get(this)?.description},get _def(){return this._zod.def}}),Hd=w("_ZodString",(t,e)=>{Go.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>rd(t,r,o,n)},A.derived({format:t=>ee(t).format??null,minLength:t=>ee(t).minimum??null,maxLength:t=>ee(t).maximum??null},{regex(...t){return this.check(pi(...t))},includes(...t){return this.check(gi(...t))},startsWith(...t){return this.check(wi(...t))},endsWith(...t){return this.check(_i(...t))},min(...t){return this.check(Qt(...t))},max(...t){return this.check(en(...t))},length(...t){return this.check(tn(...t))},nonempty(...t){return this.check(Qt(1,...t))},lowercase(t){return this.check(mi(t))},uppercase(t){return this.check(hi(t))},trim(){return this.check(yi())},normalize(...t){return this.check(xi(...t))},toLowerCase(){return this.check(bi())},toUpperCase(){return this.check(vi())},slugify(){return this.check(Si())}})),Ri=w("ZodString",(t,e)=>{Go.init(t,e),Hd.init(t,e)},{email(t){return this.check(rf(Ix,t))},url(t){return this.check(cf(Lx,t))},jwt(t){return this.check(kf(Yx,t))},emoji(t){return this.check(lf(Cx,t))},guid(t){return this.check(of(Nx,t))},uuid(t){return this.check(nf(nn,t))},uuidv4(t){return this.check(sf(nn,t))},uuidv6(t){return this.check(af(nn,t))},uuidv7(t){return this.check(uf(nn,t))},nanoid(t){return this.check(ff(Dx,t))},cuid(t){return this.check(df(Bx,t))},cuid2(t){return this.check(pf(Ux,t))},ulid(t){return this.check(mf(Zx,t))},base64(t){return this.check(bf(Wx,t))},base64url(t){return this.check(vf(Vx,t))},xid(t){return this.check(hf(jx,t))},ksuid(t){return this.check(gf(qx,t))},ipv4(t){return this.check(wf(Fx,t))},ipv6(t){return this.check(_f(Hx,t))},cidrv4(t){return this.check(xf(Kx,t))},cidrv6(t){return this.check(yf(Gx,t))},e164(t){return this.check(Sf(Jx,t))},datetime(t){return this.check(Ef(Ox,t))},date(t){return this.check(Af(Px,t))},time(t){return this.check(Tf(Mx,t))},duration(t){return this.check(zf(Rx,t))}});function O(t){return ef(Ri,t)}var V=w("ZodStringFormat",(t,e)=>{F.init(t,e),Hd.init(t,e)}),Ox=w("ZodISODateTime",(t,e)=>{ul.init(t,e),V.init(t,e)}),Px=w("ZodISODate",(t,e)=>{cl.init(t,e),V.init(t,e)}),Mx=w("ZodISOTime",(t,e)=>{ll.init(t,e),V.init(t,e)}),Rx=w("ZodISODuration",(t,e)=>{fl.init(t,e),V.init(t,e)}),Ix=w("ZodEmail",(t,e)=>{Yc.init(t,e),V.init(t,e)});var Nx=w("ZodGUID",(t,e)=>{Vc.init(t,e),V.init(t,e)});var nn=w("ZodUUID",(t,e)=>{Jc.init(t,e),V.init(t,e)});var Lx=w("ZodURL",(t,e)=>{el.init(t,e),V.init(t,e)});var Cx=w("ZodEmoji",(t,e)=>{tl.init(t,e),V.init(t,e)});var Dx=w("ZodNanoID",(t,e)=>{rl.init(t,e),V.init(t,e)});var Bx=w("ZodCUID",(t,e)=>{ol.init(t,e),V.init(t,e)});var Ux=w("ZodCUID2",(t,e)=>{nl.init(t,e),V.init(t,e)});var Zx=w("ZodULID",(t,e)=>{sl.init(t,e),V.init(t,e)});var jx=w("ZodXID",(t,e)=>{il.init(t,e),V.init(t,e)});var qx=w("ZodKSUID",(t,e)=>{al.init(t,e),V.init(t,e)});var Fx=w("ZodIPv4",(t,e)=>{dl.init(t,e),V.init(t,e)});var Hx=w("ZodIPv6",(t,e)=>{ml.init(t,e),V.init(t,e)});var Kx=w("ZodCIDRv4",(t,e)=>{hl.init(t,e),V.init(t,e)});var Gx=w("ZodCIDRv6",(t,e)=>{gl.init(t,e),V.init(t,e)});var Wx=w("ZodBase64",(t,e)=>{_l.init(t,e),V.init(t,e)});var Vx=w("ZodBase64URL",(t,e)=>{xl.init(t,e),V.init(t,e)});var Jx=w("ZodE164",(t,e)=>{yl.init(t,e),V.init(t,e)});var Yx=w("ZodJWT",(t,e)=>{bl.init(t,e),V.init(t,e)});var an=w("ZodNumber",(t,e)=>{ai.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>od(t,r,o,n),t.isFinite=!0},A.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=ee(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=ee(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=ee(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>ee(t).format??null},{gt(t,e){return this.check(Xt(t,e))},gte(t,e){return this.check(tt(t,e))},min(t,e){return this.check(tt(t,e))},lt(t,e){return this.check(Yt(t,e))},lte(t,e){return this.check(et(t,e))},max(t,e){return this.check(et(t,e))},int(t){return this.check(M(t))},safe(t){return this.check(M(t))},positive(t){return this.check(Xt(0,t))},nonnegative(t){return this.check(tt(0,t))},negative(t){return this.check(Yt(0,t))},nonpositive(t){return this.check(et(0,t))},multipleOf(t,e){return this.check(Dr(t,e))},step(t,e){return this.check(Dr(t,e))},finite(){return this}}));function v(t){return $f(an,t)}var Xx=w("ZodNumberFormat",(t,e)=>{vl.init(t,e),an.init(t,e)});function M(t){return Pf(Xx,t)}var Ii=w("ZodBoolean",(t,e)=>{Sl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nd(t,r,o,n)});function pt(t){return Mf(Ii,t)}var Kd=w("ZodBigInt",(t,e)=>{kl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>sd(t,r,o,n)},A.derived({minValue:t=>ee(t).minimum??null,maxValue:t=>ee(t).maximum??null,format:t=>ee(t).format??null},{gte(t,e){return this.check(tt(t,e))},min(t,e){return this.check(tt(t,e))},gt(t,e){return this.check(Xt(t,e))},lt(t,e){return this.check(Yt(t,e))},lte(t,e){return this.check(et(t,e))},max(t,e){return this.check(et(t,e))},positive(t){return this.check(Xt(BigInt(0),t))},negative(t){return this.check(Yt(BigInt(0),t))},nonpositive(t){return this.check(et(BigInt(0),t))},nonnegative(t){return this.check(tt(BigInt(0),t))},multipleOf(t,e){return this.check(Dr(t,e))}}));var Qx=w("ZodUnknown",(t,e)=>{El.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ad(t,r,o,n)});function sn(){return Nf(Qx)}var ey=w("ZodNever",(t,e)=>{Al.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>id(t,r,o,n)});function Gd(t){return Lf(ey,t)}var Wd=w("ZodDate",(t,e)=>{Tl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ud(t,r,o,n),t.min=(r,o)=>t.check(tt(r,o)),t.max=(r,o)=>t.check(et(r,o))},A.derived({minDate:t=>{let{minimum:e}=ee(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=ee(t);return e?new Date(e):null}},{}));var ty=w("ZodArray",(t,e)=>{qr(),zl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>pd(t,r,o,n),t.element=e.element},{min(t,e){return this.check(Qt(t,e))},nonempty(t){return this.check(Qt(1,t))},max(t,e){return this.check(en(t,e))},length(t,e){return this.check(tn(t,e))},unwrap(){return this.element}});function J(t,e){return Df(ty,t,e)}var Fr=w("ZodObject",(t,e)=>{qr(),Pl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>md(t,r,o,n),A.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return Ke(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(A.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(A.mergeDefs(this._zod.def,{catchall:sn()}))},loose(){return this.clone(A.mergeDefs(this._zod.def,{catchall:sn()}))},strict(){return this.clone(A.mergeDefs(this._zod.def,{catchall:Gd()}))},strip(){return this.clone(A.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return A.extend(this,t)},safeExtend(t){return A.safeExtend(this,t)},merge(t){return A.merge(this,t)},pick(t){return A.pick(this,t)},omit(t){return A.omit(this,t)},partial(...t){return A.partial(Kr,this,t[0])},exactPartial(...t){return A.partial(Jd,this,t[0],"exactPartial")},required(...t){return A.required(Yd,this,t[0])}});function I(t,e){let r={type:"object",shape:t??{},...A.normalizeParams(e)};return new Fr(r)}function Et(t,e){return new Fr({type:"object",shape:t,catchall:Gd(),...A.normalizeParams(e)})}var Ni=w("ZodUnion",(t,e)=>{Ml.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>hd(t,r,o,n),t.options=e.options});function Li(t,e){return new Ni({type:"union",options:t,...A.normalizeParams(e)})}var ry=w("ZodIntersection",(t,e)=>{Rl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>gd(t,r,o,n)});function oy(t,e){return new ry({type:"intersection",left:t,right:e})}var ny=w("ZodTuple",(t,e)=>{qr(),Il.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>wd(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Kr({type:"optional",innerType:e}))})}});function Hr(t,e,r){let o=e instanceof U,n=o?r:e,s=o?e:null;return new ny({type:"tuple",items:t,rest:s,...A.normalizeParams(n)})}var Zd=w("ZodRecord",(t,e)=>{qr(),Nl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>_d(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function At(t,e,r){return!e||!e._zod?new Zd({type:"record",keyType:O(),valueType:t,...A.normalizeParams(e)}):new Zd({type:"record",keyType:t,valueType:e,...A.normalizeParams(r)})}var Mi=w("ZodEnum",(t,e)=>{Ll.init(t,e),q.init(t,e),t._zod.processJSONSchema=(o,n,s)=>cd(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new Mi({...e,checks:[],...A.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new Mi({...e,checks:[],...A.normalizeParams(n),entries:s})}});function Ke(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new Mi({type:"enum",entries:r,...A.normalizeParams(e)})}var Ci=w("ZodLiteral",(t,e)=>{Cl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ld(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function Vd(t,e){return new Ci({type:"literal",values:Array.isArray(t)?t:[t],...A.normalizeParams(e)})}var sy=w("ZodTransform",(t,e)=>{qr(),Dl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>dd(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Jt(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(A.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(A.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function iy(t){return new sy({type:"transform",transform:t})}var Kr=w("ZodOptional",(t,e)=>{ui.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Pi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function jd(t){return new Kr({type:"optional",innerType:t})}var Jd=w("ZodExactOptional",(t,e)=>{Bl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Pi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function ay(t){return new Jd({type:"optional",innerType:t})}var Di=w("ZodNullable",(t,e)=>{Ul.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>xd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function qd(t){return new Di({type:"nullable",innerType:t})}var Bi=w("ZodDefault",(t,e)=>{Zl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>vd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function uy(t,e){return new Bi({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var Ui=w("ZodPrefault",(t,e)=>{jl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Sd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function cy(t,e){return new Ui({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var Yd=w("ZodNonOptional",(t,e)=>{ql.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>yd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function ly(t,e){return new Yd({type:"nonoptional",innerType:t,...A.normalizeParams(e)})}var fy=w("ZodCatch",(t,e)=>{Fl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>kd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function dy(t,e){return new fy({type:"catch",innerType:t,catchValue:typeof e=="function"?e:A.constantCatch(e)})}var py=w("ZodPipe",(t,e)=>{Hl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ed(t,r,o,n),t.in=e.in,t.out=e.out});function Fd(t,e){return new py({type:"pipe",in:t,out:e})}var my=w("ZodReadonly",(t,e)=>{Kl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ad(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function hy(t){return new my({type:"readonly",innerType:t})}var gy=w("ZodCustom",(t,e)=>{Gl.init(t,e),q.init(t,e),t._zod.processJSONSchema=(r,o,n)=>fd(t,r,o,n)});function wy(t,e={}){return Bf(gy,t,e)}function _y(t,e){return Uf(t,e)}var Gr={};Rs(Gr,{bigint:()=>Sy,boolean:()=>vy,date:()=>ky,number:()=>by,string:()=>yy});function yy(t){return tf(Ri,t)}function by(t){return Of(an,t)}function vy(t){return Rf(Ii,t)}function Sy(t){return If(Kd,t)}function ky(t){return Cf(Wd,t)}var b=class extends Error{name="UserError";exitCode=1},un=class extends b{name="UsageError";exitCode=2},Q=class extends b{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Ge=class extends un{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},C=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},Wr=class extends b{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to go on`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function y(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function D(t,e){let r=t.get(e);return y(r!==void 0,`there is no ${e}`),r}function Zi(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}function De(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: a finite number of 0 or more was wanted`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function cn(t){let{exponent:e,mantissa:r}=Xd(t);return e>0?(r+.5)*2**e/1e3:ji(r)}function ln(t){let{exponent:e,mantissa:r}=Xd(t),o=e===31&&r===2047;return{lowMs:t===1?0:ji(r*2**e),highMs:o?1/0:ji((r+1)*2**e)}}function rr(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var se=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(rr));function ji(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function Xd(t){if(!rr(t))throw new RangeError(`Cannot decode RTT code ${t}: a canonical code was wanted`);return{exponent:t>>11,mantissa:t&2047}}var Qd=Date.UTC(1990,0,1)*1e3,ep=Date.UTC(2100,0,1)*1e3;var np=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,Vr={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},tp="",rp=!1;function fn(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*Vr[e]):Ey(t);if(op(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${np.test(t)?"there is no such date or time":"it is no time"}, a time as ISO 8601 or Unix ${e} was wanted`};let n=r&&Object.keys(Vr).find(i=>op(+t*Vr[i]));if(!n)return{fault:"a time from 1990 to 2099 was wanted"};let s=Math.floor(+t*Vr[n]/Vr[e]);return{fault:`these look like ${n}, Unix ${e} were wanted, such as ${s}`}}function op(t){return t>=Qd&&t<ep}function Ey(t){let e=np.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==tp){let u=Date.parse(`${r}T00:00Z`);rp=!Number.isNaN(u)&&new Date(u).toISOString().startsWith(r),tp=r}if(!rp)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var ip=46,sp=58,Jr=8;function dn(t){return t.includes(":")?Ay(t):ap(t,0)}function Te(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, 4 or 16 were wanted`);if($y(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:Jr},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=Oy(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function ap(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==ip)return;let s=o,i=0;for(;o-s<3;o++){let u=t.charCodeAt(o)-48;if(!(u>=0&&u<=9))break;i=i*10+u}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function Ay(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===Jr)return;let s=Ty(t,r);if(t.charCodeAt(s)===ip){let a=ap(t,r);if(!a||o>Jr-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==sp||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===sp){if(n>=0)return;n=o,r++}}return zy(e,o,n)}function Ty(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function zy(t,e,r){if(r<0)return e===Jr?t:void 0;if(e===Jr)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function $y(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function Oy(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function qi(t){let{bytes:e,length:r}=lp(t);return Yr(e,r)}function up(t){let{bytes:e,length:r}=lp(t);return e.some((o,n)=>(o&~Fi(r,n))!==0)}function Yr(t,e=t.length*8){return{bytes:t.map((r,o)=>r&Fi(e,o)),length:e}}function X({bytes:t,length:e}){return e===t.length*8}function We(t){let e=Te(t.bytes);return X(t)?e:`${e}/${t.length}`}function cp({bytes:t,length:e},r){return{first:t[r],last:t[r]|~Fi(e,r)&255}}function Fi(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function Xr(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it first and give its address":""}function lp(t){let e=Py(t);if("fault"in e)throw new b(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function Py(t){let e=t.indexOf("/"),r=dn(e<0?t:t.slice(0,e));if(!r)return{fault:`an IPv4 or IPv6 address or prefix was wanted${Xr(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, 0 to ${o} was wanted`}}var My=["src","dst","time","context"],Ry=["src","dst","time","rtt"],Iy=80;function pn(t){let{src:e,dst:r,time:o,context:n}=mp(t,My),s=[],i=fp("src",e,s),a=fp("dst",r,s);return{source:i,destination:a,timeS:gp(o),context:Cy(n,s),notes:s}}function pp(t){let{source:e,destination:r,timeS:o,context:n}=Hi(t);for(let s of[e,r])if(!X(s))throw new b(`Cannot give one exact distribution for ${We(s)}: two addresses were wanted; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function Hi(t){let{source:e,destination:r,timeS:o,context:n}=pn(t);return{source:e,destination:r,timeS:o,context:n??[]}}function Ny(t){if(up(t))return`${t} has bits after the prefix: taken as ${We(qi(t))}`}function mp(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new b(`found ${Zi(r)}, only ${e.join(", ")} were wanted`)}function fp(t,e,r){let o=hp(t,e,"address or prefix");try{let n=qi(o),s=Ny(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof b?new b(`${t}: ${n.message}`):n}}function dp(t,e){let r=hp(t,e,"address"),o=dn(r);if(o)return o;throw new b(`found ${t} ${Ve(r)}, an IPv4 or IPv6 address was wanted${Xr(r)}`)}function hp(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=Iy)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${Ve(e)}`;throw new b(`found ${o}, an IPv4 or IPv6 ${r} was wanted`)}function Ly(t){let e=fn(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function gp(t){if(t==null||t==="")return null;let e=Ly(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new b(`found time ${Ve(t)}, ${e.fault}`)}function Cy(t,e){if(t==null)return null;if(!Array.isArray(t))throw new b(`found context ${Ve(t)}, an array of measurements was wanted`);let r=t.map((o,n)=>{try{return Qr(o)}catch(s){throw s instanceof b?new b(`context[${n}]: ${s.message}`):s}});return By(r,e)}function Qr(t){if(typeof t!="object"||t===null)throw new b("found no JSON object, one with src, dst, time and rtt was wanted");let{src:e,dst:r,time:o,rtt:n}=mp(t,Ry),s=dp("src",e),i=dp("dst",r);if(s.length!==i.length)throw new b("found addresses of different IP versions, two of one version were wanted");return{source:s,destination:i,rttCode:Dy(n),timeS:gp(o)}}function Dy(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return De(t);let e=t===void 0?"no rtt":`rtt ${Ve(t)}`;throw new b(`found ${e}, ms of 0 or more, or null for no reply, was wanted`)}function Ve(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?Zi(t):t)}function By(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new b("found context with a time in some measurements only, in all or none was wanted");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var Uy={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},Zy=["AbortError","TimeoutError"],wp="Cannot answer: the request was ended before its answer was there; ask again",ze=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:Uy[e],status:e,detail:r}}};function mn(t){return jy(t).problem}function jy(t){return t instanceof ze?t:t instanceof Wr?new ze(503,wp):t instanceof b?new ze(400,_p(t.message)):t instanceof on?new ze(400,_p(Ki(t))):t instanceof DOMException&&Zy.includes(t.name)?new ze(503,wp):new ze(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function nr(t){try{return await t()}catch(e){throw!(e instanceof b)||e instanceof Wr?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function _p(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Ki({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=Ve(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=yp(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(qy,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${Ve(s)}, ${n}`}function qy(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var Fy={string:"text was wanted",number:"a number was wanted",int:"a whole number was wanted",array:"an array was wanted",tuple:"an array was wanted",object:"a JSON object was wanted"};function yp(t){return t.message.endsWith(" wanted")?t.message:t.code==="invalid_type"?Fy[t.expected]??`${t.expected} was wanted`:t.code==="invalid_union"?`${t.errors.map(([r])=>yp(r).replace(/ was wanted$/,"")).join(" or ")} was wanted`:t.code==="too_small"?`at least ${xp(t.origin,t.minimum)} wanted`:t.code==="too_big"?`at most ${xp(t.origin,t.maximum)} wanted`:t.message}function xp(t,e){return t==="array"?e===1?"1 value was":`${e} values were`:`${e} was`}function Hy(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function bp(t,e){let o=e.map(n=>({name:n,distance:Hy(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function kp(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let u=n.keys[0],c=bp(u,Gi(t,s,e));throw new Ge(vp(r,[...s,u]),`the key is unknown${c}`)}let i=Wi(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Ge(vp(r,s),`found ${a}, ${Ky(n)}`)}function Ky(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`${Gy(t.expected==="int"?"integer":t.expected)} was wanted`;case"too_small":return`${t.inclusive?"at least":"more than"} ${t.minimum} was wanted`;case"too_big":return`${t.inclusive?"at most":"less than"} ${t.maximum} was wanted`;case"invalid_value":return`${t.values.map(String).join(" or ")} was wanted`;default:return t.message}}function Gy(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function vp(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Wi(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Gi(t,e,r){let o=Sp(t);if(o instanceof Ni){let a=o.options.map(c=>Sp(c)),u=a.filter(c=>Wy(c,r));return(u.length>0?u:a).flatMap(c=>Gi(c,e,r))}if(!(o instanceof Fr))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Gi(n[s],i,Wi(r,[s])):[]}function Wy(t,e){return t instanceof Fr?Object.entries(t.shape).every(([r,o])=>!(o instanceof Ci)||o.safeParse(Wi(e,[r])).success):!1}function Sp(t){let e=t;for(;e instanceof Bi||e instanceof Ui||e instanceof Kr||e instanceof Di;)e=e.unwrap();return e}var Ep=["float64","fixed","log","clipped"];var Vi=Number.MAX_SAFE_INTEGER,Yi=.001,Vy=1e6,Ap=65535,Ji=65535,Xi=Math.log(Vy/Yi)/Ap,NA=Math.expm1(Xi/2),Jy={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&gn(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},Tp={name:"fixed",maxRttMs:Vi/1e3,encode(t,e){t!==null&&gn(t,Tp.maxRttMs),zp(t===null?null:Math.min(Math.round(t*1e3),Vi),e)},decode(t){return $p(t,Vi)}},Yy={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?Ji:Qy(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>Ji))return e===Ji?null:Yi*Math.exp((e+.5)*Xi)}};function Xy(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: an integer in 1..2^53-1 was wanted`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&gn(e,Number.MAX_VALUE),zp(e===null?null:Math.min(Math.round(e*1e3),t),r)},decode(e){return $p(e,t)}}}function hn({name:t,clipMs:e}){return t==="clipped"?Xy(Math.max(1,Math.round(e*1e3))):{float64:Jy,fixed:Tp,log:Yy}[t]}function gn(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: a number in 0..${e} was wanted`)}function Qy(t){gn(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/Yi)/Xi);return Math.max(0,Math.min(e,Ap-1))}function zp(t,e){e.setUint32(0,t===null?4294967295:Math.floor(t/4294967296)),e.setUint32(4,t===null?4294967295:t%4294967296)}function $p(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===4294967295&&o===4294967295)return null;let n=r*4294967296+o;return n<=e?n/1e3:void 0}var eb=new Uint16Array(9);function wn(t,e,r){if(e===0)return;let o=eb,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),u=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),c=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:c*12+a,age:u}}var _n=2;function Op({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function Pp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var ro={};Rs(ro,{BYTE_BASE:()=>$,DST_IPV4:()=>ie,DST_IPV6:()=>be,FAILED:()=>ce,FIELD_ORDERS:()=>eo,MEASUREMENT_START:()=>te,QUERY_ORDER:()=>Ue,ROLE_NAMES:()=>xn,RTT_START:()=>B,SRC_IPV4:()=>ye,SRC_IPV6:()=>rt,THROUGHPUT_START:()=>tb,TIMESTAMP_ABS:()=>ae,TIMESTAMP_DELTA1:()=>Be,TIMESTAMP_DELTA4:()=>ve,VOCAB_SIZE:()=>mt,measurementLength:()=>ht,timeLength:()=>to,tokenName:()=>Qi,untimedLength:()=>Mp});var te=0,ye=1,rt=2,ie=3,be=4,ae=5,Be=6,ve=7,B=8,tb=9,ce=10,$=11,mt=267,xn=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],eo=Rp(["source","destination","result","time"]),Ue=["source","destination","time","result"];function Qi(t){return t>=11&&t<267?`byte ${t-11}`:xn[t]??`unknown token ${t}`}function ht(t,e){return Mp(t.source.length,t.destination.length,t.rttCode===null)+to(t.timeS,e)}function Mp(t,e,r){return 3+t+e+(r?1:3)}function to(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function Rp(t){return t.length<=1?[[...t]]:t.flatMap(e=>Rp(t.filter(r=>r!==e)).map(r=>[e,...r]))}var Ze=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=ht(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found room for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&y(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!rr(e))throw new RangeError(`Cannot write RTT code ${e}: a canonical code was wanted`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: whole seconds in 0..2^53-1 were wanted`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: at most 2^32-1 s were wanted`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var je=class extends b{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},oo=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new je(this.at,`found ${o}, ${e} was wanted`)}};function ta(t){let e=new ea(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var ea=class extends oo{#e=null;constructor(e){super(e,ro)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=rb(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!rr(r))throw new je(e,`found RTT code ${r}, a canonical code was wanted`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new je(e,`found ${Qi(r)}, ${i} was wanted`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new je(e,`found a gap of ${n} s in 4 bytes, 1 byte was wanted`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new je(e,`found a time of ${s} s, at most 2^53-1 s were wanted`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function rb(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var gt=11,ra=2**20;function Ip(t,e){let r=t.slice(-9).reverse();return wn(r.map(({rttCode:o})=>o),r.length,Np(e,r[0]?.timeS??null))}function Np(t,e){return t===null||e===null?null:Math.abs(t-e)}var yn=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}recall(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(c=>c.timeS===null||c.timeS>s),a=[...i.map(({rttCode:c})=>c).reverse(),...n.filter(c=>c>0)],u=i.at(-1)?.timeS??(s>0?s:null);return wn(a,a.length,Np(r,u))}save(){let e=this.#t.length,r=new Float32Array(e*gt);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/ra),s%ra],o*gt)}return r}load(e){let r=this.#t.length;y(e.length===r*gt,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*gt,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*ra+e[n+9+1]}}},ob={[5]:8,[6]:1,[7]:4,[8]:2},bn=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#i=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=ob[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#a(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#i&&(this.#s=new Map(this.#s)),this.#i=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#a(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function $e(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}function vn(t){return Math.log(Math.max(t,.001))}var nb=.001;function oa(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function Lp(t,e){return t===0?e:Math.log(Math.max(1+t*e,nb**t))/t}function na(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return $e($e(o+1)^Math.imul(n+1,2654435769))%r}var Sn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;y(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)y(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let u=this.start[o];this.others=new Uint32Array(u),this.logs=new Float32Array(u),this.folds=new Uint8Array(u),this.weights=new Float32Array(u);let c=this.start.slice(),l=(f,d,p)=>{let m=c[f]++;this.others[m]=d,this.logs[m]=vn(i[p]),this.folds[m]=na(f,d,r),this.weights[m]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},fe=-1;function Cp(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(fe),a=new Uint32Array(s);for(let u=0;u<s;u++){let c=0;for(i[u]===fe&&(a[c++]=u);c>0;){let l=a[--c];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=u,i[o[f]]===fe&&(i[o[f]]=u,a[c++]=o[f]))}}return i}function Bp(t,e,{estimate:r,usualError:o}){let n=no(e,64),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-4/2*Math.log1p(((p-f)/o)**2/3))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let u=n.map(({log:f},d)=>{let p=Dp(a.map((m,h)=>m-i[d][h]));return Math.abs(p.reduce((m,h,g)=>m+h*s[d][g],0)-f)}).sort((f,d)=>f-d),c=u.length,l=o*(1+2/c);return{nodes:[...Dp(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(c*u[c>>1]+8*l)/(c+8)}}function Dp(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<1e-6?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function no(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var Up=3528531795,Zp=3449720151,sb=2654435769,ib=3144134277,ab=10,kn=2**32;var qe=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#i=0;#a=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, an integer in 0..2^53-1 was wanted`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], up to three u32 were wanted`);let[n,s]=ub(r);jp(this.#s,n,s,0,0,e>>>0,Math.floor(e/kn)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#i=0,this.#a=4}uint32(){return this.#a===4&&this.#u(),this.#s[this.#a++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===kn)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: 1..2^32 was wanted`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(kn-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return sa(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#u(){y(this.#i<kn,"a random stream gave all of its 2^34 numbers"),jp(this.#s,this.#i++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#a=0}};function jp(t,e,r,o,n,s,i){let a=e|0,u=r|0,c=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<ab;p++){let m=sa(a,Up),h=Math.imul(a,Up),g=sa(c,Zp),_=Math.imul(c,Zp);a=g^u^f,u=_,c=m^l^d,l=h,f=f+sb|0,d=d+ib|0}t[0]=a,t[1]=u,t[2]=c,t[3]=l}function sa(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var qp=new Map;function ub(t){let e=qp.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return qp.set(t,o),o}var En=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let u=o[0]*e[a],c=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=u*r[0]+c*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=u*e[d]+c*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],u=this.#t[i]+a*(r?.[i]??0);for(let c=0;c<=i;c++){let l=this.#e[i*o+c]+(i===c?a:0);for(let f=0;f<c;f++)l-=n[i*o+f]*n[c*o+f];n[i*o+c]=i===c?Math.sqrt(l):l/n[c*o+c]}for(let c=0;c<i;c++)u-=n[i*o+c]*s[c];s[i]=u/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var cb=.1,lb=.25,fb=3;function Fp(t,e){return t>Math.floor(e*lb)?-1:1}var so=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#i=new Float64Array(4);#a=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new En(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=fb,this.#o=Float64Array.from({length:r},(o,n)=>Fp(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,u=a.length,c=this.#a*u,l=this.#n,f=e-o[n];l[c]=1;for(let p=1;p<u;p++)l[c+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let m=0;m<u;m++)p-=l[c+m]*s[i+m];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#a]=f,this.#i[this.#a++]=d,this.#a===4&&this.#u()}solve(e){this.#i.fill(0,this.#a),this.#u();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#u(){this.#t.addFour(this.#n,this.#s,this.#i),this.#a=0}};function Hp(t,e,r){let o=new qe(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:cb*o.normal())}function Kp(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:u}=e,{rank:c,numPlainSweeps:l,numSweeps:f,without:d}=r,p=c+1,m=new so(r);for(let h=0;h<f;h++){let g=h<l?void 0:t;for(let _=0;_<a;_++){if(o[_]===o[_+1]){t.fill(0,_*p,(_+1)*p);continue}for(let x=o[_];x<o[_+1];x++){if(d>>s[x]&1)continue;let T={value:u[x],weight:i[x]};m.add(T,t,n[x]*p,g,_*p)}t.set(m.solve(),_*p)}}}function Gp(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=Fp(s,o)*t[r+s]*e[r+s];return n}var mb=2,hb=2/3,gb=5,wb=2,Vp=fe-1,Tt=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,u=n+1,c=_b(e,s),l=new Float32Array(i*o.length*u),f=new Float32Array(a.length),d=Hp(i,n,r.seed);return o.forEach((p,m)=>{for(let g=0;g<f.length;g++)f[g]=oa(p,a[g]-c[0]);let h=m===0?{numPlainSweeps:mb,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-hb)*r.numSweeps)};Kp(d,{neighbours:e,values:f},{...r,...h});for(let g=0;g<i;g++)l.set(d.subarray(g*u,(g+1)*u),(g*o.length+m)*u)}),new t({powers:o,options:r,vectors:l,components:Cp(e,s),range:c})}placeOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<fe?Vp-i:i}}put(e,{vectors:r,component:o}){this.placeOf(e).vectors.set(r),this.factors.components[e]=o===fe?fe:Vp-o}estimate(e,r){if(e.component===fe||r.component===fe)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,u=e.component===r.component?n.rank:0,c=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let m=Gp(e.vectors,r.vectors,p*this.#e,u),h=Math.min(a,Math.max(i,s+Lp(d,m)));c+=h,l=Math.min(l,h),f=Math.max(f,h)}),{log:c/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),u=x=>this.placeOf(x).component,c=Yp(e.map(({node:x})=>u(x)).filter(x=>x!==fe)),l=e.filter(({node:x})=>u(x)===c);if(c===void 0)return{vectors:a,component:fe,error:r};let f=[...i.keys()].filter(x=>i[x]===c&&!o.has(x)),d=no(f,2048).map(x=>({node:x,place:this.placeOf(x)})),p=l.map(({node:x,log:T})=>({place:this.placeOf(x),log:T})),{nodes:m,error:h}=Bp(d,p,{estimate:(x,T)=>this.estimate(x,T)?.log??NaN,usualError:r}),g=s.regularisation*5,_=new so({...s,regularisation:g});return n.forEach((x,T)=>{let R=this.#r(m,T),E=R;for(let z=0;z<gb;z++)this.#t(_,l,T,E),E=_.solve(R);a.set(E,T*this.#e)}),{vectors:a,component:c,error:Jp(h,r)}}typicalPlace(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=Yp(o.filter(f=>f>fe));if(s===void 0)return{vectors:n,component:fe,error:e};let i=no([...o.keys()].filter(f=>o[f]===s),2048),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let u=no(i,64).map(f=>this.placeOf(f)),c=(f,d)=>this.estimate(f,d)?.log??NaN,l=u.flatMap(f=>{let d=c(f,{vectors:n,component:s});return u.filter(p=>p!==f).map(p=>Math.abs(c(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:Jp(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:u,log:c}of r){let l=(u*s.length+o)*this.#e;e.add({value:oa(s[o],c-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let u=(i*s.length+r)*this.#e;for(let c=0;c<o.length;c++)o[c]+=a*n[u+c]}return o}};function Jp(t,e){return Math.fround(wb*t*Math.max(1,t/e))}function Yp(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function _b({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let u=0;u<t.length;u++)o>>e[u]&1||(n+=r[u]*t[u],s+=r[u],i=Math.min(i,t[u]),a=Math.max(a,t[u]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var zt=[0,.5,1],Xp=6,xb=.2;function An(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,zt.length,1+o],nodes:[r+1,2,e],fits:[r+1,Xp]}}function ia({numNodes:t,numFolds:e,rank:r},o){let n=zt.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var $t=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,y(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return na(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.placeOf(f):f.places[o],u=n.estimate(a(e),a(r));if(!u)return;let c=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(c(e)*c(r))*(u.spread/i+xb);return{rttMs:Math.exp(u.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:vn(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalPlace(r))}}hasPlace(e,r=this.size.numFolds){return this.fits[r].factorisation.placeOf(e).component!==fe}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(An(e))){let{length:d}=r[l];y(d===f.reduce((p,m)=>p*m),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:u}=r,c=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=c(u,Xp,f),[p,m,h]=d.subarray(3);return{factorisation:new Tt({powers:zt,options:{rank:s,knee:p,regularisation:m},vectors:c(i,o*zt.length*(1+s),f),components:c(a,o,2*f),range:d.subarray(0,3)}),errors:c(a,o,2*f+1),usualError:h}}))}};var yb=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],bb=[.5],Qp=5,vb=1,Sb=5e-4,kb=4;function em(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=yb}=e;y(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=kb*zt.length*(o+1)*t.numNodes,u=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),c=new Sn(t,o),l={rank:u,numSweeps:n,seed:r},f=i.map(Eb),d=f.map(m=>Tb(c,{...l,...m})),p=Array.from({length:o+1},(m,h)=>{let g=h===o,_=g?2**o-1:1<<Ab(h),x=$b(d.map(R=>zb(c,R,_)));return{factorisation:Tt.fit(c,{...l,...f[x],powers:zt,without:g?0:1<<h}),...Ob(c,d[x],_)}});return new $t({numNodes:t.numNodes,numFolds:o,rank:u},p)}function Eb({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function Ab(t){return t^1}function Tb(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,u=new Float32Array(s.length);for(let c=0;c<a;c+=2){let l=3<<c,f=Tt.fit(t,{...e,powers:bb,without:l});for(let d=0;d<i;d++){let p=f.placeOf(d);for(let m=r[d];m<r[d+1];m++){if(!aa(l,n[m]))continue;let h=f.estimate(p,f.placeOf(o[m]));u[m]=h?Math.abs(h.log-s[m]):NaN}}}return u}function aa(t,e){return(t>>e&1)===1}function zb({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!aa(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function $b(t){return t.indexOf(Math.min(...t))}function Ob({start:t,folds:e,numNodes:r},o,n){let s=(c,l)=>{let f=o.subarray(c,l).filter((d,p)=>aa(n,e[c+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??vb,a=Math.fround(Math.max(Sb,i)),u=Float32Array.from({length:r},(c,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+Qp*a)/(f+Qp)});return{usualError:a,errors:u}}var P=4294967295,Pb=64,Ot=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let u=0;u<Math.min(Pb,s);u++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):P;a=a+1===s?0:a+1}return P}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){Mb(this.#e,e.subarray(2*this.firstRow))}load(e){y(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),Rb(e.subarray(2*this.firstRow),this.#e)}};function Mb(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function Rb(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function tm(t,e){let r=$e(t+e),o=$e(r^rm);return{hash1:r,hash2:o,length:e,row:P,isDropped:!1,numBytes:0,isWhole:!1}}var rm=2654435769;function Tn(t,e){t.hash1=$e(t.hash1*257+e+1),t.hash2=$e(Math.imul(t.hash2,65599)+e+1),t.isWhole=++t.numBytes===t.length}function om(t,e,r=0){let o=(n,s)=>$e(n+s^Math.imul(n,s)^Math.imul(r,rm));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function zn(t,e,r){return r>0&&$e(t^e)<r*2**32}var io="coordinates.keys";function ao(t){return`coordinates.${t}`}function nm(t){let e=Object.entries(An(sr(t))).map(([r,o])=>{let n=o[o.length-1];return[ao(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[io,[t.nodes,2]],...e])}function sr({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var $n=class{config;#e;#t;constructor(e){this.config=e,this.#e=new Ot(0,e.nodes)}load(e){this.#e.load(D(e,io));let r=Object.keys(An(sr(this.config))),o=Object.fromEntries(r.map(n=>[n,D(e,ao(n))]));this.#t=$t.load(sr(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(io,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(ao(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=em({numNodes:r,...e},s)}hasPlace(e){return e!==P&&(this.#t?.hasPlace(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasPlace(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=$t.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==P)return;let a=n&&e!==P&&r!==P?i.foldOf(e,r):this.config.folds,[u,c]=[e,r].map((f,d)=>f!==P&&!s[d]&&i.hasPlace(f,a)?f:i.typical),l=i.estimate(u,c,a);return l&&{...l,isOfBoth:typeof u=="number"&&typeof c=="number"}}};var Lb=0,Cb=256,Db=512,Bb=768,ua=772,Ub=0,Zb=ua,jb=2*ua,im=3*ua,am=im+48,um=am+26,sm=2**-10,cm=22,lm=um+cm;function fm(t){return pm(t,e=>[Lb+(e>>8),Cb+(e&255)])}function dm(t,e){return pm(t,r=>{let o=(r>>8)-e;return o===0?[Db+(r&255)]:[Bb+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function pm(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,sm)/sm),a=Math.min(cm-1,Math.floor(2*i));return[...e(De(t.rttMs)).map(u=>jb+u),um+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>Ub+i),...e(o).map(i=>Zb+i),im+n,am+s]}var qb={v1:266,v2:267},uo=t=>M().min(1).max(t),mm=2**36,hm=Et({rows:M().min(16).max(2**24),seed:M().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),Fb=Et({...hm.shape,history:pt().default(!0)}),Hb=Et({nodes:M().min(16).max(2**24),rank:M().min(1).max(64).default(24),folds:M().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),Kb=Et({numLayers:uo(1024),width:uo(65536),numHeads:uo(1024),headDim:Vd([32,64,128]),mlpWidth:uo(262144),sequenceLength:uo(65535),vocabulary:Ke(["v1","v2"]).default("v2"),rttEncoding:Ke(Ep).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:Ke(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:pt().default(!0),keyShift:pt().default(!1),byteVectors:Ke(["random","ordinal"]).default("random"),prefixVectors:hm.nullable().default(null),pairVectors:Fb.nullable().default(null),coordinates:Hb.nullable().default(null)});function On(t){let e=kp(Kb,t,"model");return Gb(e),e}function Gb(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Ge(`model.${r}`,`found ${t[r]}, a multiple of 4 was wanted`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Ge(`model.${r}`,`vocabulary ${t.vocabulary} has none, v2 or null was wanted`);if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Ge("model.rttEncoding","vocabulary v2 has one of its own, v1 or null was wanted");let e=Vb(t);if(e>mm)throw new Ge("model",`found ${e} parameters, at most ${mm} were wanted`)}function Pn({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function Se(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+Wb(t)}function Wb({pairVectors:t,coordinates:e}){return t?.history||e?lm:0}function H(t){return qb[t.vocabulary]}function Mn(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=H(t),s=new Map([["wte.weight",[n,e]]]),i=Se(t);i>0&&s.set("wpe.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let u=`blocks.${a}`;s.set(`${u}.attn.q_proj.weight`,[o,e]),s.set(`${u}.attn.k_proj.weight`,[o,e]),s.set(`${u}.attn.v_proj.weight`,[o,e]),s.set(`${u}.attn.o_proj.weight`,[e,o]),s.set(`${u}.mlp.up_proj.weight`,[r,e]),s.set(`${u}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function Rn(t){let e=Mn(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(Oe,[n,2]),o?.history&&e.set(ir,[o.rows,gt]);let s=t.coordinates?nm(t.coordinates):[];return new Map([...e,...s])}var Oe="wpe.keys",ir="wpe.history";function Vb(t){let e=0;for(let r of Mn(t).values())e+=r[0]*r[1];return e}var gm=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var Jb=37;function wm(t){return Jb+t.source.length+t.destination.length}function ar({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var _m={v1:{byteBase:10,roleNames:gm,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:xn,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var xm=2**32;var Pt=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(8))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},u=r.map(c=>c==="result"?"rtt":c);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?u.filter(c=>c!=="time"):u,ar(e))}write(e,r,o=wm(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found room for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&y(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,8);case"size":return la("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return la("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){la(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/xm);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*xm),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function la(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: an integer in ${r}..${o} was wanted`)}var tT=2**32,rT={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var ym=2**32-1;function ge(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return ot({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:Ue,sequenceLength:e}).subarray(0,-1)}function ot(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new b(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: two addresses of one version were wanted`);let a=new Uint16Array(n+1),u=new Ze(a),c=Mt({...t,context:r},n);ga(c,t.timeS);for(let l of c)u.write(l,Ue);return u.write(t,o),a.subarray(0,u.at)}function ga(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new b(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, none after it was wanted`);if(r!==null&&o!==null&&o-r>ym)throw new b(`Cannot ask about times ${o-r} s apart: at most ${ym} s between two measurements were wanted`);r=o??r}}function Mt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,u=Math.max(0,s.length-Math.ceil(a/11));for(let c=u;c<=s.length;c++){let l=null,f=0;for(let d of[...s.slice(c),i])f+=ht(d,l),l=d.timeS??l;if(f<=a)return s.slice(c)}throw new b(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}function ue(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var cr=-1;function Ln(t,e){let r=Float64Array.from(e,(s,i)=>s===cr?cr:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}function Rt({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function Cn(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function Dn(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,u)=>a+u,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*Bn(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,u)=>o(s+u));await t.continuePrompts([e],async(a,u)=>{a.fork([i.length]);for(let c of i)c.draw(u);for(;i.some(c=>!c.isComplete);){let c=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(ue(c,f)))}}),yield*i}}function po(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var It=Float64Array.from(se,cn),Sm=6e4,bm=It.findIndex(t=>t>Sm),tv=.01,wt=class{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,y(r.length===se.length,"one probability per canonical code"),this.#e=new Float64Array(r.length);let s=0;for(let i=0;i<r.length;i++)this.#e[i]=s+=r[i]}get meanMs(){let e=this.withinPingLimit;if(e===0)return Sm;let r=0;for(let o=0;o<bm;o++)r+=this.probabilities[o]*It[o];return r/e}get withinPingLimit(){return this.#e[bm-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return vm(se,De(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: 0 to 1 was wanted`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<It.length;i++){for(n+=this.probabilities[i];It[i]>It[o]*(1+tv);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&rv(s,se[i],this.probabilities[i]);return s}#t(e){return It[Math.min(vm(this.#e,e),It.length-1)]}};function rv(t,e,r){let o=ln(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let u=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);u>0&&(t[a].probability+=r*u/n)}}function vm(t,e){return po(t.length,r=>t[r]>=e)}var Y=[...new Set([...se].map(t=>t>>8))],ov=Y.map(t=>11+t),km=[8,10],Un=Array.from({length:256},(t,e)=>[...se].filter(r=>r>>8===e).map(r=>r&255));function fr(t){return Un[t]}function Em(t){let{outcome:e,first:r,seconds:o,expanded:n}=t,s=new Float64Array(se.length),i=nt(r,Y),a=0,u=0,c=0,l=0;return Y.forEach((f,d)=>{let p=i.probabilities[d],m=Un[f].length;if(n[l]===d){let h=nt(ue(o,l++),Un[f]);a+=p*i.mass*h.mass;for(let g of h.probabilities)s[c++]=p*g}else a+=p*i.mass,u+=p,s.fill(p/m,c,c+=m)}),new wt(wa(e),s,a,u)}function wa(t){return 1/(1+Math.exp(t[8]-t[10]))}function Am(t,{outcome:e,first:r,second:o}){if(t===null)return lr(e,10,km);let[n,s]=[t>>8,t&255];return lr(e,8,km)+lr(r,11+n,ov)+lr(o,11+s,Un[n].map(i=>11+i))}function lr(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function Tm(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=nt(t,Y),s=Y.keys().toArray().toSorted((u,c)=>o[c]-o[u]),i=new Set(r===null?[]:[Y.indexOf(r>>8)]),a=1;for(let u of s){if(a<=e)break;i.add(u),a-=o[u]}return[...i].sort((u,c)=>u-c)}function nt(t,e){let r=new Float64Array(e.length),o=0;for(let n=0;n<e.length;n++)o+=r[n]=Math.exp(t[11+e[n]]);for(let n=0;n<e.length;n++)r[n]/=o;return{mass:o,probabilities:r}}var zm=Rt({first:0,last:255}),nv=[Rt({first:0,last:0}),Rt({first:0,last:31})],sv=Rt({first:1,last:255}),iv=Y.map(t=>11+t),av=new Map(Y.map(t=>[t,fr(t).map(e=>11+e)])),$m=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],dr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#i=!1;constructor(e){this.#t=e}get isComplete(){return this.#i||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#u():this.#a()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#i=!0;return}let r=$m.find(o=>o.token===e);y(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#a(){let r=$m.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#u(){let e=this.#n;return this.#o===8?e.length===0?iv:av.get(e[0])??[]:this.#o===5?nv[e.length]??zm:this.#o===7&&e.length===2&&e[0]+e[1]===0?sv:zm}};var _a=new Set([5,6,7]);function uv(t){return t?eo:eo.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function Om(t,e,r={}){let o=e.map(s=>cv(s,r.order,t.config)),n=await dv(t,o);return o.map(({orders:s})=>hv(s.map(i=>mv(i,n.get(i)??[]))))}function cv(t,e,r){let o=fv(t.measurement,e),n=lv(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=_m[r.vocabulary],a=[...n.keys()].filter(c=>c>=s&&i(n[c])),u=new Map(o[0].map((c,l)=>[c,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(c=>{let l=c.map(f=>u.get(f)??[]);return{order:c,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function lv({measurement:t,rttMs:e,context:r},o,n){let s=Pn(n);if(!s)return ot(t,{context:r,order:o,sequenceLength:n.sequenceLength});y(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(ar(i));return new Pt(a,hn(s)).writeFields(i,o),a}function fv({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:uv(t!==null)}async function dv(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?pv:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function pv(t,e){let r=t.some(s=>_a.has(s)),o=new dr(e.some(s=>_a.has(s))),n=s=>s!==0&&(r||!_a.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function mv({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:mo(a)}}),bits:mo(r)}}function hv(t){let e=t.map(({bits:i})=>i),r=mo(e)/e.length,o=Math.sqrt(mo(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(mo(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function mo(t){return t.reduce((e,r)=>e+r,0)}function Pm(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var gv=["time","source","destination","result"];async function Mm(t,e,r){let o=wv(e,t.config.sequenceLength),n=await _v(t,o),s=a=>new xa(o,n,{index:a,seed:r.seed}),i=Bn(t.decoders,o.prompt,{count:r.numDraws,begin:s});return xv(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function wv({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=ot(s,{context:o,order:gv,sequenceLength:n}),a=1+t.bytes.length,u=i.length-1-2*a,c=["source","destination"].flatMap((d,p)=>{let m=d==="source"?t:e,h={kind:"role",token:i[u+p*a]},g=[...m.bytes.keys()].map(_=>({kind:"byte",side:d,index:_,range:cp(m,_)}));return[h,...g]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=c.findIndex(l);return{prompt:i.slice(0,u+f),fixed:c.slice(0,f),drawn:c.slice(f,c.findLastIndex(l)+1)}}async function _v(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var xa=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new qe(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=Cn(e,s)),this.lastToken=Dn(e,{tokens:Rt(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function xv({source:t,destination:e},r){let o=new Map;for(let{mass:u,...c}of r){let l=`${c.source} ${c.destination}`,f=o.get(l);f?f.count++:o.set(l,{...c,count:1})}let n=r.map(({mass:u})=>u.destination),s=r.length,i=n.reduce((u,c)=>u+c,0)/s,a=n.reduce((u,c)=>u+(c-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:X(t)?null:r[0].mass.source,destinationProbability:X(e)?null:i,destinationProbabilityError:X(t)||X(e)?0:Math.sqrt(a/s)}}function Rm(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var Zn=class{#e=0;#t=0;#r=new pr;#o=0;#n=new pr;#s=new pr;#i=new pr;#a=new Float64Array(se.length);#u=new Float64Array(se.length);#c=new Float64Array(se.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#i.add({y:i,w:i,count:r});let a=0;for(let u=0;u<n.length;u++){let c=s*n[u];a+=c,this.#a[u]+=r*c,this.#u[u]+=r*a*a,this.#c[u]+=r*a*s}}mixture(){let e=this.#e;y(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new wt(this.#r.sum/e,this.#a.map(a=>a/r.sum),this.#o/e),n=(a,u,c=r)=>{let l=a.squares-2*u*a.products+u**2*c.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/c.sum},s=a=>{let u=o.indexOf(a);return n({squares:this.#u[u],products:this.#c[u]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#i.sum===0?0:n(this.#s,this.#s.sum/this.#i.sum,this.#i),quantileErrorMs:a=>{let u=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+u))-o.quantileMs(Math.max(0,a-u)))/2}}}},pr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}};var Im=124,yv=64;async function ya(t,e,r={}){let o="source"in e?e:Hi(e),{numDraws:n=yv,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: a whole number of at least 2 was wanted`);if(X(o.source)&&X(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return jn(await t.rttDistribution(d))}let{pairs:a,...u}=await Mm(t,o,{numDraws:n,seed:s}),c=new Zn;for(let l=0;l<a.length;l+=Im){let f=a.slice(l,l+Im),d=f.map(({source:m,destination:h})=>({...o,source:m,destination:h}));(await t.rttDistributions(d)).forEach((m,h)=>c.add(m,f[h].count)),i(l+f.length,a.length)}return{mixture:c.mixture(),...u}}function jn(t){return{mixture:Rm(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function Nm({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??Pm(r,s),a=e.context?0:r.length-i.length,u={source:o.bytes,destination:n.bytes,timeS:s,context:i},c={...u,context:Mt(u,t)};return ge(c,t),{query:{...e,context:e.context&&c.context},first:c,numContext:i.length,numContextLater:a}}function Lm({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}async function*Cm(t,e,r){let o=vv(e,t.config.sequenceLength),{count:n}=r,s=i=>new ba(o,i,r);for await(let i of Bn(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function bv(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Mt({source:o,destination:o,timeS:s,context:r},e)}function vv(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new b("Cannot sample between addresses of different versions: two addresses of one version were wanted");let s=new Uint16Array(e+1),i=new Ze(s),a=bv(t,e);ga(a,n);for(let g of a)i.write(g,Ue);let{at:u,previousTimeS:c}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(g=>l[g]),...p.filter(g=>!l[g]),"result"]);let h=(Number(l.source)+Number(l.destination))*(1+f.length)+to(n,c);return{tokens:s.slice(0,u+1+h),start:u,hasEarlierTime:c!==null}}var ba=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new dr(o);for(let u of e.subarray(r+1))this.#t.push(u);this.#r=new qe(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=Dn(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=ta(Uint16Array.from(this.#e)).at(-1);return y(e,"a sample has a measurement"),e}};var Sv=8,kv=4,Ev=.5;async function Dm(t){let e=new Map,r={count:Sv,seed:0,temperature:Ev};for await(let{source:o,destination:n}of Cm(t,{timeS:null,context:[]},r)){let s={src_addr:Te(o),dst_addr:Te(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,kv)}var Av=2**18,Tv=2**20,mr=2**21,Nt={measurements:0,lastS:null},Z=4,ka=class{columns;isTruncated;#e;constructor(e,r){this.columns=e,this.isTruncated=r;let{v4:o,v6:n,seen:s,pairs:i}=e;this.#e=o.length,y(s.length===Z*(o.length+n.length/Z)&&i.length%Z===0,"the columns of known addresses are of different lengths")}get numAddresses(){return this.columns.seen.length/Z}get numPairs(){return this.columns.pairs.length/Z}address(e){let r=this.#t(e);return r<0?void 0:this.#n(r)}pair(e,r){return this.measuredIn(e,{bytes:r,length:8*r.length})}measuredIn(e,r){let o=this.#t(e);if(o<0)return Nt;let{pairs:n}=this.columns,[s,i]=this.#r(r),a=0,u=0,c=va(this.numPairs,l=>n[Z*l]-o||n[Z*l+1]-s);for(let l=Z*c;n[l]===o&&n[l+1]<i;l+=Z)a+=n[l+2],u=Math.max(u,n[l+3]);return go(a,u)}destinationsOf(e){let r=this.#t(e);if(r<0)return[];let{pairs:o}=this.columns,n=[],s=va(this.numPairs,i=>o[Z*i]-r);for(let i=s;i<this.numPairs&&o[Z*i]===r;i++){let a=Z*i,u={measurements:o[a+2],lastS:o[a+3]};n.push({address:this.#n(o[a+1]),seen:u})}return n}*destinations(){for(let e=0;e<this.numAddresses;e++)this.columns.seen[Z*e+2]>0&&(yield this.#n(e))}countIn(e){let[r,o]=this.#r(e);return o-r}prefixAround(e){for(let r of e.length===4?[24,16,8]:[64,48,32]){let o=Yr(e,r),n=this.countIn(o);if(n>0)return{prefix:o,numKnown:n}}}#t(e){let[r,o]=this.#r({bytes:e,length:8*e.length});return o>r?r:-1}#r({bytes:e,length:r}){let o=e.map((n,s)=>n|255>>Math.min(8,Math.max(0,r-8*s)));return[this.#o(e,!1),this.#o(o,!0)]}#o(e,r){let{v4:o,v6:n}=this.columns,s=Zm(e),i=r?-1:0,[a,u,c]=s.length===1?[o,1,0]:[n,Z,this.#e];return c+va(a.length/u,l=>jm(a,u*l,s)||i)}#n(e){let{v4:r,v6:o,seen:n}=this.columns,s=e<this.#e?r.subarray(e,e+1):o.subarray(Z*(e-this.#e),Z*(e-this.#e+1)),i=Z*e;return{bytes:Uint8Array.from({length:4*s.length},(a,u)=>s[u>>2]>>>24-8*(u&3)),asSource:go(n[i],n[i+1]),asDestination:go(n[i+2],n[i+3])}}};function go(t,e){return t===0?Nt:{measurements:t,lastS:e>0?e:null}}function va(t,e){let r=0,o=t;for(;r<o;){let n=r+o>>>1;e(n)<0?r=n+1:o=n}return r}function Zm(t){let e=new DataView(t.buffer,t.byteOffset,t.length);return Uint32Array.from({length:t.length/4},(r,o)=>e.getUint32(4*o))}function jm(t,e,r){for(let o=0;o<r.length;o++)if(t[e+o]!==r[o])return t[e+o]-r[o];return 0}var _o=class t{#e=new Map;#t=[];#r=[];#o=new Map;#n=[];#s=!1;#i=0;#a=1/0;#u=-1/0;static of({known:{columns:e,isTruncated:r},summary:o}){let n=new t,{v4:s,v6:i,seen:a,pairs:u}=e;for(let c=0;c<s.length;c++)n.#c(s.subarray(c,c+1));for(let c=0;c<i.length;c+=Z)n.#c(i.subarray(c,c+Z));a.forEach((c,l)=>n.#r[l]=c);for(let c=0;c<u.length;c+=Z)n.#o.set(u[c]*mr+u[c+1],c/Z),n.#n.push(u[c+2],u[c+3]);return n.#s=r,n.#i=o.measurements,n.#a=o.startS??1/0,n.#u=o.endS??-1/0,n}id(e){return this.#c(Zm(e))}#c(e){let r=e.join(),o=this.#e.get(r);if(o!==void 0)return o;let n=this.#t.length;return n===mr?(this.#s=!0,-1):(this.#e.set(r,n),this.#t.push(e),this.#r.push(0,0,0,0),n)}add(e,r,o){if(this.#i++,o!==null&&(this.#a=Math.min(this.#a,o),this.#u=Math.max(this.#u,o)),e<0||r<0)return;Sa(this.#r,Z*e,o),Sa(this.#r,Z*r+2,o);let n=e*mr+r,s=this.#o.get(n);if(s===void 0){if(s=this.#o.size,s===mr){this.#s=!0;return}this.#o.set(n,s),this.#n.push(0,0)}Sa(this.#n,2*s,o)}summary(e){let r=n=>this.#t.filter((s,i)=>this.#r[Z*i+n]>0).length,o=this.#a<1/0;return{origin:e.origin,isSynthetic:e.isSynthetic,startS:o?this.#a:null,endS:o?this.#u:null,measurements:this.#i,sources:r(0),destinations:r(2)}}table(e=Av,r=Tv){let o=this.#r,n=p=>o[Z*p]+o[Z*p+2],s=Bm(this.#t.map((p,m)=>m),e,n);s.sort((p,m)=>{let[h,g]=[this.#t[p],this.#t[m]];return h.length-g.length||jm(h,0,g)});let i=new Map(s.map((p,m)=>[p,m])),a=[];for(let[p,m]of this.#o){let h=i.get(Math.floor(p/mr)),g=i.get(p%mr);h===void 0||g===void 0||a.push([h,g,this.#n[2*m],this.#n[2*m+1]])}let u=Bm(a,r,([,,p])=>p);u.sort((p,m)=>p[0]-m[0]||p[1]-m[1]);let c=s.filter(p=>this.#t[p].length===1),l=s.slice(c.length),f={v4:Uint32Array.from(c,p=>this.#t[p][0]),v6:Uint32Array.from(l.flatMap(p=>[...this.#t[p]])),seen:Uint32Array.from(s.flatMap(p=>o.slice(Z*p,Z*(p+1)))),pairs:Uint32Array.from(u.flat())},d=s.length===this.#t.length&&u.length===this.#o.size;return new ka(f,this.#s||!d)}};function Sa(t,e,r){t[e]++,t[e+1]=Math.max(t[e+1],r??0)}function Bm(t,e,r){return t.length<=e?t:t.toSorted((o,n)=>r(n)-r(o)).slice(0,e)}function ho(t,e=Nt){let{measurements:r,lastS:o}=go(t.measurements+e.measurements,Math.max(t.lastS??0,e.lastS??0));return{measurements:r,inAdaptation:e.measurements,lastS:o}}function qn({known:t,adaptation:e},r,o){return ho(t.measuredIn(r,o),e?.known.measuredIn(r,o))}function qm(t,e,r){if(!t){let m="No table of the training data is at hand: whether these addresses were measured is not known.",h=ho(Nt);return{kind:"network",text:m,src:h,dst:h,pair:h}}let{known:o,summary:n,adaptation:s}=t,[i,a]=[e,r].map(m=>ho(Um(o,m),s&&Um(s.known,m))),u=X(e)&&X(r),c=u?qn(t,e.bytes,r):ho(Nt),l=u?qn(t,r.bytes,e):ho(Nt),f=c.measurements+l.measurements>0?"pair":i.measurements>0?a.measurements>0?"addresses":"source":a.measurements>0?"destination":"network",d=(...m)=>` a guess${m.map((h,g)=>`${g===0?" from ":" and "}${zv(o,h)}`).join("")}.`,p=[{pair:c.measurements>0?`Pair ${hr(c)}.`:`Pair ${hr(l)}, in the other direction only.`,addresses:`Source ${hr(i)}, destination ${hr(a)}, the pair never: an estimate from each.`,source:`Source ${hr(i)}, destination never:${d(r)}`,destination:`Destination ${hr(a)}, source never:${d(e)}`,network:`Neither ${u?"address":"place as one address"} is in the training data:${d(e,r)}`}[f]];return(o.isTruncated||s?.known.isTruncated)&&f!=="pair"&&p.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&p.push("The model knows a synthetic Internet, not the real one."),{kind:f,text:p.join(" "),src:i,dst:a,pair:c}}function Um(t,e){let r=X(e)?t.address(e.bytes):void 0;if(!r)return Nt;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return go(o.measurements+n.measurements,s)}function zv(t,e){let r=X(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${We(e)})`;let{prefix:o,numKnown:n}=r;return`${We(o)} (${n} known ${n===1?"address":"addresses"})`}function hr({measurements:t,inAdaptation:e,lastS:r}){if(t===0)return"never measured";let o=t===1?"measured once":`measured ${t} times`,n=e===t?`in ${t} ${t===1?"measurement":"measurements"} of the adaptation`:e>0?`${o}, ${e} of them in the adaptation`:o;return r===null?n:`${n}, last on ${new Date(r*1e3).toISOString().slice(0,10)}`}function Fm({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:wo(r),dst:wo(o),pair:wo(n)}}function wo({measurements:t,inAdaptation:e,lastS:r}){return{measurements:t,in_adaptation:e,last_seen:$v(r)}}function $v(t){return t===null?null:new Date(t*1e3).toISOString()}var Ov=["source","time","result","destination"];function st({rttMs:t}){if(!t)return[null];let[e,r]=t;if(!(e>=0&&e<=r&&r<1/0))throw new b(`Cannot ask for destinations at an RTT of ${e}..${r} ms: 0 or more, the lesser first, was wanted`);let o=De(e),n=De(r);return[...se.filter(s=>s>=o&&s<=n)]}function Pv(t,e){let{source:r,timeS:o,context:n}=t,s=st(t),i={source:r,destination:r,rttCode:s[0],timeS:o},a=ot(i,{context:n,order:Ov,sequenceLength:e}),u=1+r.length;return a.subarray(0,s.length>1?-u-2:-r.length)}function Hm(t,e){let r=t.source.length===4?3:4;return st(t).length<=1?e.map(()=>[]):e.map(o=>(y(o!==null,"a range of RTTs has codes"),[11+(o>>8),11+(o&255),r]))}async function Km({config:t,decoders:e},r,o){let n=Pv(r,t.sequenceLength);return await e.continuePrompts([n],async(s,i)=>await o({decoder:s,ends:i}))}async function Gm(t,{decoder:e,ends:r}){let o=st(t).map(Number);if(o.length===1)return Float64Array.of(1);let n=[...new Set(o.map(a=>a>>8))];e.fork([n.length]);let s=await e.step(n.map(a=>11+a)),i=new Map(n.flatMap((a,u)=>{let c=fr(a),l=nt(ue(s,u),c).probabilities;return c.map((f,d)=>[a<<8|f,Math.exp(r[11+a])*l[d]])}));return Float64Array.from(o,a=>i.get(a)??0)}var Fn=256,Mv={first:0,last:Fn-1};async function Hn(t,e){let{decoder:r,ends:o,walks:n}=t,s=n.flatMap((c,l)=>c.flatMap(({tree:f,tails:d})=>f.take(e).map(p=>({tree:f,tails:d,prompt:l,at:p})))).map(c=>new Ea(c));if(s.length===0)return 0;r.fork(n.map(()=>1));let i=s[0].tails[0].length,a=o,u=Uint32Array.from(s.flatMap(({prompt:c,tails:l})=>l.map(()=>c)));for(let c=0;;c++){let l=c-i,f=0;for(let p of s){let m=u.subarray(f,f+=p.tails.length);l>=0&&p.look(l,Array.from(m,h=>ue(a,h)))}let d=Ln(u,s.flatMap(p=>p.tokens(c)));if(d.tokens.length===0)return s.length;a=await r.step(d.tokens,d.parents),u=d.rows}}var Ea=class{prompt;tails;#e;#t;#r=!1;constructor({tree:e,tails:r,prompt:o,at:n}){this.#e=e,this.tails=r,this.prompt=o,this.#t=n}look(e,r){if(this.#r||this.#t.bytes.length!==e)return;let o=new Float64Array(r.length*Fn);r.forEach((s,i)=>Rv(o,i,s));let n=this.#e.expand(this.#t,o);n?this.#t=n:this.#r=!0}tokens(e){return this.tails.map(r=>this.#r?cr:r[e]??11+this.#t.bytes[e-r.length])}};function Rv(t,e,r){let o=Cn(r,Mv);for(let n=0;n<Fn;n++)t[e*Fn+n]=Math.exp(r[11+n])/o}var Wm=47;var nz=new Uint16Array(9);function Vm(t){return t?Nv(t):Iv}var Iv={maxMeasurementTokens:Wm,divide:t=>[t],write({measurements:t},e,r,o){let n=new Ze(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.recall)&&Op(s.recall,o,e.indexOf(8,i)*_n)}return n.at}};function Nv(t){let e=hn(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:ar(n)})),write({measurements:r},o,n){let s=new Pt(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}function Pe(t){return t.shape.reduce((e,r)=>e*r,1)}function Je(t){return Pe(t)*(t.dtype==="f16"?2:4)}function Kn(t,e="f32"){return Math.max(16,Math.ceil(Je({shape:t,dtype:e})/16)*16)}var Lv={};function gr(t,e){return(r,o,n)=>t(e+r,o,n)}function xo(t){return Aa(t).reduce((e,{sizeBytes:r})=>e+r,0)}function wr(t){return Aa(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function Aa(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:Kn(o,n)}),Lv)),e}function Lt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Gn(t,e,r){let o=Lt(t.device),n=Aa(e).find(({sizeBytes:i})=>i>o);if(n)throw Jm(`${n.label} takes ${it(n.sizeBytes)}`,`${it(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,u)=>t.tensor(i,a,u));if(await t.device.popErrorScope()){let i=`${r.what} takes ${it(xo(e))}`;throw Jm(i,"what the GPU has free",r)}return s}function it(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function Jm(t,e,{what:r,remedy:o}){return new b(`Cannot allocate ${r}: ${t}, at most ${e} was wanted; ${o}`)}var Ta=256,za=65535;function re(t){let e=Math.ceil(t/za);return[Math.ceil(t/e),e]}var Me=class{registry;label;#e;#t;#r;#o;#n;#s;#i;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){y(!this.#i,`program ${this.label} is built already`);let r=this.#a(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/Ta)*Ta}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){y(!this.#s,`scratch memory of program ${this.label} is allocated already`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get dispatches(){return this.#e.map(({dispatch:e})=>e)}choose(e,{overrides:r,grid:o}){y(!this.#i,`program ${this.label} is built already`);let{dispatch:n,paramsOffsetBytes:s}=this.#e[e],i={...n,overrides:r,grid:o};this.#e[e]={dispatch:i,kernel:this.#a(i),paramsOffsetBytes:s}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+Ym(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#u(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)Cv(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),u=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:u,flops:n.flops??0,bytes:Ym(n)})}return this.#r.check(),r}#a(e){let r=this.registry.get(e.kernel,e.overrides,Uv(e));return Zv(r,e),r}#u(){if(this.#i)return this.#i;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(Ta,this.#o));for(let n of this.#e)Bv(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#i={uniforms:o,bindGroups:this.#e.map(n=>Dv(e,n,o))},this.#i}};function Cv(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function Dv(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let c=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:c}}}let u=n.bindings[s];return{binding:i,resource:{buffer:u.buffer,offset:u.offsetBytes}}})})}function Ym({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+Je(n),0)}function Bv(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function Uv({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function Zv(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);Xm(t,"binding",r,Object.keys(e.bindings)),Xm(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=za&&Number.isInteger(o)))throw new C(t.name,`the grid [${e.grid}] is not of 1 to ${za} workgroups`)}function Xm(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new C(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new C(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function K(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new C(t,`${o} is ${n}, a positive multiple of ${r} was wanted`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new C(t,`${e} elements were asked for, at least one was wanted`);for(let[o,n]of Object.entries(r))if(Pe(n)<e)throw new C(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], ${e} elements were wanted`)}var jv=4;function Ct(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";K(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:re(s)})}function yo(t,e){return e+1+t}function Wn(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(yo(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function Qm(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:u=s}=e,c="embedding_backward";K(c,{width:i},4),S(c,yo(u,a),{tokenRows:r}),S(c,s*i,{dx:o}),S(c,a*i,{dTable:n}),t.add({kernel:c,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*jv*t.registry.lanes))]})}var oe=9,_t=class{config;#e;#t;#r;coordinates;constructor(e){this.config=e;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new $n(n));let s=r?.rows??0;r&&(this.#e=new Ot(0,s)),o&&(this.#t=new Ot(s,o.rows),o.history&&(this.#r=new yn(o.rows)))}load(e){this.#e?.load(D(e,Oe)),this.#t?.load(D(e,Oe)),this.#r?.load(D(e,ir)),this.coordinates?.load(e)}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(Oe,r),this.#r&&e.set(ir,this.#r.save()),this.coordinates?.save(e)}claim(e,r){for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==P&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#n(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??P)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.#e?.row(o,n,r)??P}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.coordinates?.node(o,n,r)??P}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#o(this.#n(e),this.#n(r));return this.#t?.row(n,s,o)??P}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return P;let s=1-(1-n.dropShare)**(1/e.length);return r&&zn(e.hash2,o,s)&&(e.isDropped=!0),e.isDropped?P:this.#e.row(e.hash1,e.hash2)}pairOf(e,r,{isTraining:o,context:n}){let{hash1:s,hash2:i}=this.#o(e,r),a=this.config.pairVectors?.dropShare??0,[u,c]=[s,i].map(d=>o&&zn(d,n,a)),f=e.isDropped||r.isDropped||u||c?P:this.#t?.row(s,i)??P;return{hash1:s,hash2:i,source:e,destination:r,row:f,isUnknown:u}}recallOf({hash1:e,row:r,isUnknown:o},{recall:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,u=s??i.rttsOf(e);return s||r===P?Ip(u,a):this.#r.recall(r-this.#t.firstRow,{timeS:a,newer:u})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[u,c]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(u,c);let l=zn(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(u,c,{isTraining:n,hidden:f})}begin(e){return tm(this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0,e)}#o(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return om(e,r,s)}#n(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)Tn(o,n),r(o);return o}};var qv={isTraining:!1,context:0},Fv=3,xt=class t{#e;#t;#r;#o;#n;#s=!1;#i;#a=new bn;constructor(e){this.#e=e}clone(){let e=new t(this.#e);return e.#o=this.#o&&{...this.#o},e.#t=this.#t===this.#o?e.#o:this.#t,e.#r=this.#r===this.#o?e.#o:this.#r,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i,e.#a=this.#a.clone(),e}read(e,r,o,n=qv){r.fill(P,o,o+oe);let s=e>=11&&e<267;if(n.recall===void 0&&this.#a.read(e),s&&this.#s&&(this.#f(r,o),this.#i&&this.#l(r,o,dm(this.#i,e-11))),this.#s=e===8,s){this.#o&&(r[o]=this.#c(this.#o,e-11,n));return}switch(this.#o=void 0,e){case 0:this.#a.end(this.#n?.hash1),this.#t=this.#r=this.#n=void 0;break;case 1:case 2:this.#o=this.#t=this.#u(e===1?4:16);break;case 3:case 4:this.#o=this.#r=this.#u(e===3?4:16);break;case 8:this.#i=this.#n&&(this.#e.recallOf(this.#n,n,this.#a)??this.#e.estimateOf(this.#n,n)),this.#f(r,o),this.#i&&this.#l(r,o,fm(this.#i))}}#u(e){return this.#n=void 0,this.#e.begin(e)}#c(e,r,o){Tn(e,r);let n=this.#e.prefixRow(e,o);n!==P&&(e.row=n),e.isWhole&&(this.#o=void 0);let[s,i]=[this.#t,this.#r];return s?.isWhole&&i?.isWhole&&(this.#n=this.#e.pairOf(s,i,o)),n}#l(e,r,o){o.forEach((n,s)=>e[r+Fv+s]=this.#e.selectedRow(n))}#f(e,r){let[o,n]=[this.#t,this.#r];e[r+2]=this.#n?.row??P,!(e[r+2]!==P||this.#i&&!Hv(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row))}};function Hv(t){return"isOfBoth"in t&&!t.isOfBoth}function yt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(Se(t),o*r)}function _r({batchSize:t,sequenceLength:e}){return t*2*e}function bo({tokens:t,segmentStart:e,recalls:r},o,{sequenceLength:n,isTraining:s}){let i=new Uint32Array(t.length*oe),a=new xt(o),u=0;for(let c=0;c<t.length;c++){c%n===e[c]&&(a=new xt(o),s&&(u=Kv(t,e,c,n)));let l=r&&t[c]===8?Pp(r,c*_n):void 0,f=r||s?l??null:void 0;a.read(t[c],i,c*oe,{isTraining:s,context:u,recall:f})}return i}function Kv(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=$e(s+t[i]);return s}var Vn=class{numSlots;numUses;isFixed;#e;constructor(e,r,o=!1){this.numSlots=e,this.numUses=r,this.isFixed=o,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==P&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===P?P:this.#e.get(o)??P);return Wn(r,this.numSlots,{perRow:oe,numUses:this.numUses})}};function eh(t,e,r){return{tokens:Dt(t.tokens,e,r),targets:Dt(t.targets,e,r),lossMask:Dt(t.lossMask,e,r),segmentStart:Dt(t.segmentStart,e,r),...t.recalls?{recalls:Dt(t.recalls,e,r)}:{}}}function Dt(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function th({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var Gv=64*8*4;function Bt(t){return re(Math.ceil(t/Gv))}function rh(t,e){let{x:r,y:o,length:n}=e,s="copy";K(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:Bt(n)})}function oh(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";sh(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...ih(e)})}function nh(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";sh(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...ih(e)})}function Jn(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function sh(t,{rows:e,numHeads:r,headDim:o},n,s){K(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function ih({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:Bt(t*o*4)}}function ah(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,u=[o,n],c=Se(t)>0,l=yt(t,e),f=yo(_r(e),l),d=yo(o*n,H(t));return{tokens:r("tokens",u),targets:r("targets",u),lossMask:r("lossMask",u),segmentStart:r("segmentStart",u),previous:t.keyShift?r("previous",u):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,addressRows:c?r("rows of tokens",[o,n,oe]):void 0,rowPlaces:c&&s?r("tokens of slots",[f]):void 0,slotRows:c&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function uh(t,e,r){let{extent:o,batch:n,weight:s}=r,i=H(r.config),{batchSize:a,sequenceLength:u}=o,c={...n,lossMask:th(n,u)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(c[l]);y(f.length===a*u,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&y(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Jn(n.segmentStart,u)),e.tokenRows&&t.write(e.tokenRows,Wn(n.tokens,i)),e.addressRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.addressRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function Ut(t){return Math.ceil(H(t)/4)*4}function $a(t,e,r){let o=[],n=(c,l,f)=>{let d=r(c,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=Wv(t,e,n),a=Zt(t,n),{dtype:u}=e;return{parameters:a,operands:fh(t,{parameters:a,dtype:u},n),gradients:e.training?lh(t,e,gr(n,"d ")):new Map,inputs:ah(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],u),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,Ut(t)]),losses:n("losses",[s])},backward:e.training?Vv(t,{rows:s,dtype:u},n):void 0,lossSum:n("lossSum",[1]),all:o}}function Oa(t){return new Map([...Mn(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?Ut(t):r,o]]))}function Zt(t,e){return new Map([...Oa(t)].map(([r,o])=>[r,e(r,o)]))}function lh(t,e,r){let o=()=>["wpe.weight",r("wpe.weight",[yt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([...Oa(t)].map(([n,s])=>n==="wpe.weight"?o():[n,r(n,s)]))}function fh(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of Oa(t))s!=="wte.weight"&&s!=="wpe.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function Wv(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=ch(t,{rows:o,training:n,dtype:s},gr(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,u)=>{if(u===0||!n)return i;let c=gr(r,`layer ${u} `);return e.checkpointActivations?{...i,x:c("x",[o,t.width])}:{...ch(t,{rows:o,training:n,dtype:s},c),kUnshifted:i.kUnshifted}})}function ch(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{...Pa(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function Pa(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,u=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,u],o),k:n("k",[e,u],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,u],o),attention:n("attention",[e,u],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function Vv(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,Ut(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}var dh=[32,64,128],Ra={subgroup8:1024,tiled:2048};function ph(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,u=vo(t.registry.gpu.info);hh(`attention_forward_${u}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${u}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...Ma(e,u)})}function mh(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:u,dq:c,dk:l,dv:f,delta:d}=e,p=vo(t.registry.gpu.info);hh(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:c,dk:l,dv:f},{logSumExp:a,delta:d},u);let m={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:u,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...m,out:s,dq:c},...Ma(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...m,dk:l,dv:f},...Ma(e,p)})}function vo(t){return t.subgroupSize===8?"subgroup8":"tiled"}function Ia(t,e){if(!dh.includes(e))throw new C(t,`headDim is ${e}, one of ${dh.join(", ")} was wanted`)}function Ma({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/Ra[n]),r,t]}}function hh(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){Ia(t,n);let u=e*r;S(t,u,{segmentStart:a}),S(t,u*o,i),S(t,u*o*n,s)}var So=8;function gh(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function wh(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:u}=e,c="adamw";K(c,{length:u},4),S(c,u,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(c,So,{hyper:i}),S(c,1,{clip:a}),t.add({kernel:c,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:u},grid:Bt(u)})}function _h(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:u}=e,c="add_rows";K(c,{width:u},4),S(c,s*i,{indexes:r}),S(c,a*u,{table:o}),S(c,s*u,{x:n}),t.add({kernel:c,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:u,table_rows:a},grid:re(s)})}function xh(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:u,clip:c,slots:l,width:f}=e,d="adamw_rows";K(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,So,{hyper:u}),S(d,1,{clip:c}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:u,clip:c,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:re(l)})}function yh(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";K(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:re(s)})}var Jv={relu2:0,gelu:1,silu:2},vh={kernel:"gemm_subgroup8",overrides:{},tile:32},Yn={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},Sh={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},Yv=256,bh=16,kh=0;function Xv(t){return[...t.subgroupSize===8?[vh]:[],Yn,Sh]}function Na(t,e){return t.subgroupSize===8?vh:!t.isSoftware&&e.m*e.n>=Yv*128*128?Sh:Yn}function Qv(t,e){let r=Na(t,e),o=Xv(t).filter(n=>n!==r&&n.kernel===r.kernel);return[r,...o]}var e0={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function t0(t,e){let{kernel:r}=Na(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:r0(e)}function r0({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=e0){let i=Math.ceil(t/Yn.tile)*Math.ceil(e/Yn.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function ko(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:u,c,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,p=f?[Na(d,e)]:Qv(d,e),m=e.variant?[e.variant]:p,{kernel:h}=m[0];if(K(h,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new C(h,`a product of ${o} x ${n} cannot be symmetric`);S(h,i*o*s,{a}),S(h,i*s*n,{b:u}),S(h,i*o*n,{c});let{code:g,read:_,written:x,activation:T}=n0(l);for(let pe of[_,x])if(pe&&(S(h,i*o*n,{[pe.label]:pe}),pe.buffer===c.buffer))throw new C(h,`${pe.label} is in the buffer of c; to add to c use "accumulate"`);let R=typeof l=="string"&&i===1,E=e.splits??(R&&!e.variant?t0(d,e):1),z=Math.ceil(s/E/bh)*bh;if(E>1&&!(R&&h==="gemm_tiled"&&z*(E-1)<s))throw new C(h,`it cannot divide k into ${E} splits here`);let N=E>1?t.scratch(E*o*n):c,j=e.label??`gemm ${r}`,de=o0(m,{kind:r,m:o,n,depth:i*E,activation:T}),[{overrides:Ee,grid:vt}]=de,G=[a,u,c].map(pe=>Je(pe)/Pe(pe)),He=`${r} ${o} x ${n} x ${s}, batch ${i}, splits ${E}, of ${G} bytes`;t.add({kernel:h,label:j,overrides:Ee,bindings:{a,b:u,d:_??{...a,dtype:c.dtype},c:N,e:x??{...t.registry.unusedOutput,dtype:c.dtype}},params:{m:o,n,k:s,epilogue:E>1?kh:g,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...h==="gemm_tiled"?{splits:E,split_k:z}:{}},grid:vt,flops:i*(f?o+1:2*o)*n*s,...de.length>1?{tuning:{key:He,launches:de}}:{}}),E!==1&&t.add({kernel:"sum_splits",label:`${j}, sum of splits`,bindings:{partials:N,c},params:{length:o*n,splits:E,accumulate:+(l==="accumulate")},grid:Bt(o*n)})}function o0(t,e){let{kind:r,m:o,n,depth:s,activation:i}=e;return t.map(({overrides:a,tile:u})=>({name:`tile ${u}`,overrides:{...a,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:i},grid:[Math.ceil(n/u),Math.ceil(o/u),s]}))}function n0(t){if(t==="store")return{code:kh,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=Jv[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var s0=64,i0=1e4,Eh=new WeakMap;function La(t,e){let{x:r,y:o,scale:n,rotation:s=Xn(t,e)}=e,i="qk_norm_rope_forward";Ah(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...Th(e)})}function Ca(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";Ah(i,e,{x:r,dy:n,dx:s},o);let a=Xn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...Th(e)})}function Ah(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){K(t,{headDim:o},8),K(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function Th({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:re(Math.ceil(t*e/s0))}}function Xn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=Eh.get(o)??new Map;Eh.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=a0(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function a0(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*i0**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var u0=4;function Qn(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";K(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:re(s)})}function zh(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:u}=e,c="rms_norm_backward";K(c,{width:a},4),S(c,i*a,{x:r,dy:n,dx:s}),S(c,i,{scale:o}),t.add({kernel:c,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(u)},grid:re(Math.ceil(i/u0))})}function jt(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:u="store"}=s,c=D(r.operands,o),[l,f]=c.shape,d=e.batchSize*e.sequenceLength;ko(t,{kind:"NT",m:d,n:l,k:f,a:i,b:c,c:a,epilogue:u,label:n})}function $h(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=D(r,o);s!==n&&rh(t,{x:n,y:s,length:Pe(n)})}}function xr(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:u,operands:c}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=D(c,"wte.weight");Ct(t,{tokens:u.tokens,table:d,x:i[0].x,rows:l,width:f}),u.addressRows&&_h(t,{indexes:u.addressRows,table:D(c,"wpe.weight"),x:i[0].x,rows:l,rowsPerToken:oe,tableRows:Se(r),width:f});for(let m=0;m<r.numLayers;m++){let h=m===r.numLayers-1;Ph(t,e,m);let g=s&&h?c0(t,e,s):e;Mh(t,g,m),Ih(t,g,m),l0(t,g,{layer:m,out:h?a.xLast:i[m+1].x})}let p=s?.rows??l;Qn(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function c0(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,u=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let c=(f,d,p)=>Ct(t,{tokens:a,table:f,x:d,rows:i,width:p});c(u.x,r.x,o.width),c(u.xNorm,r.xNorm,o.width),c(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...u,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function Da(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function es(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function Oh(t,e,r){Ph(t,e,r),Mh(t,e,r),Ih(t,e,r)}function Ph(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],u=n.batchSize*n.sequenceLength;Qn(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:u,width:o.width});for(let f of["k","v"])Rh(t,e,{layer:r,part:f});let c={...es(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;La(t,{x:a.k,y:l,scale:a.kScale,...c}),a.kUnshifted&&s.inputs.previous&&oh(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:u,numHeads:o.numHeads,headDim:o.headDim})}function Mh(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];Rh(t,e,{layer:r,part:"q"});let u={...es(o,n),...i?{rotation:i}:{}};La(t,{x:a.q,y:a.qRotated,scale:a.qScale,...u}),e.addAttention?e.addAttention(t,r):ph(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...Da(o,n)}),jt(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function Rh(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;jt(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function Ih(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:u,xMiddleScale:c,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Qn(t,{x:a,y:u,scale:c,rows:d,width:o}),jt(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:u,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function l0(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;jt(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}function Nh(t,e){return Ra[vo(t)]/e}function Lh(t,e){return t.flatMap(r=>{let o=[];for(let n=r.firstRow;n<r.endRow;n+=e)o.push({...r,firstRow:n,endRow:Math.min(n+e,r.endRow)});return o})}function Ch(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,suffixRows:a,tiles:u,out:c}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:m}=e,h=vo(t.registry.gpu.info),g=`attention_decode_${h}`;Ia(g,p);let _=d*p;S(g,_,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(g,l*_,{q:r,out:c}),f>0&&S(g,f*l,{suffixRows:a}),S(g,m*4,{tiles:u});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:g,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,suffix_rows:a,tiles:u,out:c},params:h==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[m,d]})}var f0=32;function bt(t){let e=Math.max(f0,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function Ba(t,e){return xo(r=>ts(t,e,r))-xo(r=>Zt(t,r))}function Ua(t,e,r){return Ba(t,e)<=r.limitBytes&&wr(o=>ts(t,e,o))<=r.bufferBytes}function ts(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=bt(e.maxRows),a=bt(e.maxPromptTokens),u=Math.max(i,a),c=Pa(t,{rows:u,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>gr(r,`layer ${d} `));return{parameters:Zt(t,r),inputs:{tokens:r("tokens",[u]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[u]):void 0,addressRows:Se(t)>0?r("rows of tokens",[u,oe]):void 0},positions:r("positions",[u]),rotation:r("rotation",[u,s]),chosenRotation:r("chosen rotation",[u,s]),tiles:r("tiles",[i,4]),suffixRows:r("suffixRows",[e.maxSteps,i]),promptLayers:l.map(f=>({...c,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:c.x,xLastNorm:r("xLastNorm",[u,o]),xLastScale:r("xLastScale",[u])},chosen:{positions:r("chosen positions",[u]),picked:r("chosen hidden states",[u,o]),logits:r("chosen logits",[u,Ut(t)]),rowIndex:r("rows",[u]),logProbabilities:r("log-probabilities",[u,H(t)])}}}function Dh(t,e){let{tensors:r,numWanted:o}=e,n=Uh(t,e,r.promptLayers),s=o===void 0?{}:{wanted:d0(e,o)};xr(t,{...n,...s})}function Bh(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:u,suffixRows:c}=o,{numHeads:l,headDim:f}=r,d=s*c.shape[1]*l*f*4,p=h=>({...h,shape:[n,l,f],offsetBytes:d}),m=a.map((h,g)=>({...h,kRotated:p(u[g].k),kUnshifted:u[g].kUnshifted&&p(u[g].kUnshifted),v:p(u[g].v)}));xr(t,{...Uh(t,e,m),earlierKeys:h=>{let g=(s===0?a:u)[h].kUnshifted;return y(g,"a model without keyShift has no keys before their shift"),g},addAttention:(h,g)=>Zh(h,e,{layer:g,numRows:n,numTiles:i,numSteps:s+1})})}function Uh(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:u,rotation:c}=r,l=Xn(t,e);return Ct(t,{tokens:u,table:l,x:c,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:c}}function d0(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>Zh(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function Zh(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,suffixRows:a,tiles:u}=r,{qRotated:c,kRotated:l,v:f,attention:d}=s[o];Ch(t,{q:c,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,suffixRows:a,tiles:u,numHeads:e.numHeads,headDim:e.headDim,...n})}var p0=8192,m0=1024;function h0(t){return Vm(Pn(t)).maxMeasurementTokens-1}function Za(t,e){for(let r=p0;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,Y.length),maxSteps:1};if(r<Y.length||Ua(t,o,e))return o}}var g0=8;function jh(t,e){for(let r=m0;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,g0*r),maxRows:r,maxSteps:h0(t)};if(r<=32||Ua(t,n,e))return n}}function*rs(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}function qh(t,{probabilities:e,maxCodes:r}){let o=e.reduce((u,c)=>u+c,0);if(y(o>0&&t.length===e.length,"a range of RTTs has codes with mass"),t.length<=r)return{codes:t,weights:e.map(u=>u/o),strata:void 0};let n=[],s=[],i=[],a=0;for(let u=0,c=0;c<r;c++){let l=(c+.5)*o/r;for(;u<t.length-1&&a+e[u]<l;)a+=e[u++];n.at(-1)!==t[u]&&(n.push(t[u]),s.push(0)),s[s.length-1]++,i.push(n.length-1)}return{codes:n,weights:Float64Array.from(s,u=>u/r),strata:i}}function Fh({weights:t,strata:e},r){if(!e)return 0;let o=s=>r[e[s]]/t[e[s]],n=0;for(let s=0;s+1<e.length;s+=2)n+=(o(s)-o(s+1))**2;return Math.sqrt(n)/e.length}var os=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};var at=256,w0=2**31;function ss({numComponents:t,top:e}){let r=at*(8*t+8+1)+1024,o=8*t+256;return Math.max(1,Math.floor((w0-e*o)/r))}var yr=class{#e;#t;#r=new os((e,r)=>ja(e)>ja(r));#o=[];#n;#s=new Set;#i=0;constructor(e,{prefixLength:r,top:o}){this.#e=r,this.#t=o;let n={bytes:[],joint:e};r>0?this.#n=n:this.#o.push({...n,mass:ns(e)})}get found(){return this.#o}get numExpanded(){return this.#i}get unfoundAtMost(){let e=[...this.#s,...this.#n?[this.#n]:[]].map(({joint:o})=>ns(o)),r=Math.max(0,this.#a,...e);return this.#o.length<this.#t?r:Math.max(r,this.#c)}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#a<=this.#c}take(e){let r=[];for(this.#n&&e>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#a>this.#c;)r.push(this.#u());for(let o of r)this.#s.add(o);return r}expand(e,r){y(this.#s.delete(e),"a node is expanded that was not taken"),this.#i++;let o=this.#e-8*e.bytes.length;if(o<=8){this.#l(e,r,o);return}let n=_0(e,r),s=Uint8Array.from({length:at},(u,c)=>c);s.sort((u,c)=>n[c]-n[u]||u-c);let i={node:e,probabilities:r,masses:n,order:s,numTaken:1};this.#r.add(i);let a=Hh(i,s[0]);return this.#s.add(a),a}get#a(){return this.#r.first?ja(this.#r.first):0}#u(){let{first:e}=this.#r;y(e,"a child is taken where there is none");let r=Hh(e,e.order[e.numTaken++]);return e.numTaken===at?this.#r.removeFirst():this.#r.sinkFirst(),r}get#c(){return this.#o.length<this.#t?0:this.#o[this.#o.length-1].mass}#l(e,r,o){let n=2**(8-o);for(let s=0;s<at;s+=n){let i=e.joint.map((c,l)=>{let f=l*at+s;return c*ns(r.subarray(f,f+n))}),a=ns(i);if(a<=this.#c)continue;let u=c=>this.#o[c].mass<a;this.#o.splice(po(this.#o.length,u),0,{bytes:[...e.bytes,s],joint:i,mass:a}),this.#o.length>this.#t&&this.#o.pop()}}};function ja({masses:t,order:e,numTaken:r}){return t[e[r]]}function Hh({node:t,probabilities:e},r){let o=t.joint.map((n,s)=>n*e[s*at+r]);return{bytes:[...t.bytes,r],joint:o}}function _0({joint:t},e){let r=new Float64Array(at);return t.forEach((o,n)=>{let s=n*at;for(let i=0;i<at;i++)r[i]+=o*e[s+i]}),r}function ns(t){let e=0;for(let r of t)e+=r;return e}var x0=64;async function Kh(t,e,r={}){let{top:o=20,maxCodes:n=32,maxExpansions:s=4096,signal:i,onProgress:a}=r,u=Eo(e,r.prefixLength);return await Km(t,e,async c=>{let l=st(e),f=await Gm(e,c),d=qh(l,{probabilities:f,maxCodes:Math.min(n,1024)}),p=d.codes.length,m=new yr(d.weights,{prefixLength:u,top:o}),h={tree:m,tails:Hm(e,d.codes)},g={...c,walks:[[h]]},{maxRows:_}=t.decoders.continuationExtent,x=Math.max(1,Math.min(x0,Math.floor(_/p))),T=Math.min(s,ss({numComponents:p,top:o}));for(;m.numExpanded<T&&await Hn(g,x)>0;)a?.(m.numExpanded),i?.throwIfAborted();let{isProven:R,numExpanded:E,unfoundAtMost:z}=m,N=j=>y0(j,{mixture:d,prefixLength:u,query:e});return{...qa(m.found.map(N)),isProven:R,numExpanded:E,unlistedAtMost:z,codes:{inRange:l.length,used:p}}})}function qa(t){let e=t.reduce((r,{probability:o})=>r+o,0);return{destinations:t,unlistedProbability:Math.max(0,1-e)}}function Eo({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new b(`Cannot ask for prefixes of ${e} bits: 0 to ${r} were wanted for the destinations of an IPv${r===32?4:6} source`)}function y0({bytes:t,joint:e,mass:r},o){let n=new Uint8Array(o.query.source.length);return n.set(t),{prefix:{bytes:n,length:o.prefixLength},probability:r,standardError:Fh(o.mixture,e)}}var Fa=16;async function Gh(t,e,r){let{numCandidates:o,top:n=o,maxExpansions:s=512,onProgress:i,signal:a}=r,u=e.map(f=>k0(f,t.config.sequenceLength)),c=u.map(({prompt:f})=>f),l=[];for(let f of rs(c,t.decoders.continuationExtent,Fa)){a?.throwIfAborted();let d=Eo(e[0],r.prefixLength),p=8*e[0].source.length,m=await b0(t,f,{numCandidates:o,maxExpansions:s,numBits:p,signal:a}),h=u.slice(l.length,l.length+f.length),g=await t.decoders.continuationLogProbabilities(h.map(({prompt:x,tail:T},R)=>({prompt:x,continuations:m[R].map(({address:E})=>Uint16Array.from([...Array.from(E,z=>11+z),...T]))}))),_=0;for(let[x,T]of m.entries()){let R=g.slice(_,_+=T.length).map(z=>z.reduce((N,j)=>N+j,0)),{rangeMs:E}=h[x];if(E){let z={...e[l.length],rangeMs:E};(await v0(t,z,{candidates:T,signal:a})).forEach((j,de)=>R[de]+=Math.log(j))}l.push(S0(T,R,{top:n,prefixLength:d}))}i?.(l.length)}return l}async function b0(t,e,r){let{numCandidates:o,maxExpansions:n,numBits:s,signal:i}=r,a=e.map(()=>new yr(Float64Array.of(1),{prefixLength:s,top:o})),u=a.map(l=>[{tree:l,tails:[[]]}]),c=ss({numComponents:1,top:o})/e.length;return await t.decoders.continuePrompts(e,async(l,f)=>{for(let d=0;d<Math.min(n,c)&&await Hn({decoder:l,ends:f,walks:u},Fa)!==0;d+=Fa)i?.throwIfAborted()}),a.map(({found:l})=>l.map(({bytes:f,mass:d})=>({address:Uint8Array.from(f),prior:d})))}async function v0(t,{source:e,rangeMs:[r,o],timeS:n,context:s},{candidates:i,signal:a}){let u=[],c=i.map(({address:l})=>({source:e,destination:l,timeS:n,context:s}));return await t.likelyRttDistributions(c,l=>{a?.throwIfAborted();let f=l.probabilities.subarray(l.indexOf(r),l.indexOf(o)+1);u.push((1-l.pFailed)*f.reduce((d,p)=>d+p,0))}),u}function S0(t,e,{top:r,prefixLength:o}){let n=Math.max(...e),s=e.map(c=>n===-1/0?1:Math.exp(c-n)),i=s.reduce((c,l)=>c+l,0),a=new Map;t.forEach(({address:c},l)=>{let f=Yr(c,o),d=We(f),p=(a.get(d)?.probability??0)+s[l]/i;a.set(d,{prefix:f,probability:p,standardError:0})});let u=[...a.values()].sort((c,l)=>l.probability-c.probability);return{...qa(u.slice(0,r)),candidates:t.length,priorMass:t.reduce((c,{prior:l})=>c+l,0)}}function k0(t,e){let r=st(t),o=r.length>1?t.rttMs:null,{source:n,timeS:s,context:i}=t,a={source:n,destination:n,rttCode:r[0],timeS:s},u=o?ge({source:n,destination:n,timeS:s,context:i},e):ot(a,{context:i,order:Ue,sequenceLength:e}),c=u.lastIndexOf(n.length===4?3:4)+1;return{rangeMs:o,prompt:u.slice(0,c),tail:[...u.subarray(c+n.length)]}}var Ha=Li([O(),v()]).nullish(),Ao=O({error:"an IPv4 or IPv6 address was wanted"}),E0=v().min(0).max(1);function vr(t){let e=`only ${Object.keys(t).join(", ")} were wanted`;return Et(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var br=vr({src_addr:Ao,dst_addr:Ao,timestamp:Ha,rtt:v().min(0).nullable()}),Ka=vr({quantiles:J(E0).max(200).optional(),at:J(v().min(0)).max(200).optional(),cdf:M().min(2).max(1e3).optional()}),Vh=vr({src_addr:Ao,dst_addr:Ao,timestamp:Ha,context:J(br).optional(),...Ka.shape,draws:M().min(2).max(2**12).optional(),seed:M().min(0).max(2**32-1).optional()}),is=I({measurements:M(),in_adaptation:M(),last_seen:O().nullable()}),A0=I({kind:Ke(["pair","addresses","source","destination","network"]),text:O(),src:is,dst:is,pair:is}),OO=I({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),context_measurements:M(),p_failed:v(),mean_ms:v(),likeliest:I({rtt_ms:v(),probability:v()}),quantiles_ms:At(O(),v()),canonical_mass:v(),at:J(I({rtt_ms:v(),cdf:v(),probability:v(),low_ms:v(),high_ms:v().nullable(),bits:v().nullable()})).optional(),cdf:J(I({rtt_ms:v(),cdf:v()})).optional(),drawn:I({num_draws:M(),num_distinct:M(),source_probability:v().nullable(),destination_probability:v().nullable(),standard_errors:I({p_failed:v(),mean_ms:v(),quantiles_ms:At(O(),v()),cdf:J(v()).optional(),destination_probability:v()})}).optional(),basis:A0,notes:J(O()).optional(),step:M()}),PO=I({line:M(),error:O()}),Jh=vr({src_addr:Ao,rtt:Hr([v().min(0),v().min(0)]),timestamp:Ha,context:J(br).optional(),top:M().min(1).max(1e3).optional(),prefix_length:M().min(0).max(128).optional(),candidates:M().min(1).max(1024).optional(),max_codes:M().min(1).max(1024).optional(),max_expansions:M().min(1).max(2**16).optional()}),MO=I({src_addr:O(),rtt:Hr([v(),v()]),timestamp:v().nullable(),prefix_length:M(),context_measurements:M(),destinations:J(I({prefix:O(),probability:v(),standard_error:v(),measured:is.nullable()})),unlisted_probability:v(),unlisted_at_most:v().optional(),is_proven:pt().optional(),step:M()}),Wh=I({start:O().nullable(),end:O().nullable(),measurements:M(),sources:M(),destinations:M()}),Yh=vr({...br.shape,context:J(br).optional()}),RO=I({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),rtt:v().nullable(),mean_bits:v(),spread_bits:v(),total_bits:v(),orders:J(I({order:O(),bits:v(),block_bits:At(O(),v())})),step:M()}),IO=I({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),rtt:v().nullable(),log_likelihood:v(),p_value:v()}),Xh=vr({context:Gr.number().int().min(0).max(1e3).optional(),seed:Gr.number().int().min(0).max(2**32-1).optional()}),Ga=I({version:O(),step:M(),num_parameters:M(),vocabulary:O(),model_sha256:O(),data_fingerprint:O(),trained_tokens:M(),config:At(O(),sn()),is_calibrated:pt(),data:I({origin:O(),is_synthetic:pt().nullable(),...Wh.shape,adaptation:Wh.nullable()}).nullable(),training_curve:J(I({step:M(),train_loss:v().nullable(),eval_loss:v().nullable()})),evaluation:I({num_measurements:M(),split:O(),num_training:M(),methods:J(I({name:O(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()}))}).nullable()}),NO=I({...Ga.shape,adapter:O(),examples:J(I({src_addr:O(),dst_addr:O()}))}),LO=I({type:O(),title:O(),status:M(),detail:O()});var T0=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function ut(t,e){let r=Qh(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new b(Ki(s,{value:r}))}function Qh(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of T0)if(e.has(o)){if(e.has(n))throw new b(`found ${o} and ${n}, one of the two was wanted`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(Qh)),Object.fromEntries(e)}function Wa(t,e={}){let{draws:r,seed:o,quantiles:n,at:s,cdf:i,...a}=ut(Vh,t),{src_addr:u,dst_addr:c}=a;return{query:{src:u,dst:c,...pn(eg(a))},wanted:{quantiles:n??e.quantiles,at:s??e.at,cdf:i??e.cdf},draws:{numDraws:r,seed:o}}}function as(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=pn(eg({...t,dst_addr:e}));if(!X(r))throw new b(`found src_addr ${Ve(e)}, an IPv4 or IPv6 address was wanted${Xr(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function us(t){return Qr(tg(t))}function eg({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(tg)}}function tg({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}function qt(t){return Va(t)}function Va(t){if(Array.isArray(t))return t.map(Va);if(typeof t!="object"||t===null)return t;let e=Object.entries(t).map(([r,o])=>[r.replace(/[A-Z]/g,n=>`_${n.toLowerCase()}`),Va(o)]);return Object.fromEntries(e)}var[z0,$0,O0]=[20,32,4096];function rg(t,e){let{rtt:r,prefix_length:o,candidates:n,...s}=ut(Jh,e),{src_addr:i,timestamp:a,context:u}=s,c={...as({src_addr:i,timestamp:a,context:u}),rttMs:r};st(c);let l=Eo(c,o),f=Mt({...c,destination:c.source},t.config.sequenceLength),d={src_addr:i,rtt:r,timestamp:c.timeS,prefix_length:l,context_measurements:f.length},{top:p=z0,max_codes:m=$0,max_expansions:h=O0}=s;return async g=>{let _={top:p,maxExpansions:h,signal:g},{trainingData:x}=t,T=N=>({destinations:N.destinations.map(({prefix:j,...de})=>({prefix:We(j),...qt(de),measured:x?wo(qn(x,c.source,j)):null})),unlisted_probability:N.unlistedProbability});if(n!==void 0){let[N]=await Gh(t,[c],{..._,numCandidates:n,prefixLength:l});return{...d,...T(N),step:t.step}}let R=await Kh(t,c,{..._,maxCodes:m,prefixLength:l}),{unlistedAtMost:E,isProven:z}=R;return{...d,...T(R),...qt({unlistedAtMost:E,isProven:z}),step:t.step}}}async function*og(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],u=s?.then(f=>({next:f})),c=a?.then(f=>({value:f})),l=await Promise.race([c,u].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(P0(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function P0(t){return t.catch(()=>{}),t}async function*Ja(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*Ya(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>M0(r)})}async function Xa(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*Qa(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function M0(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new b("found no JSON, an object was wanted",{cause:e}):e}}var Sr=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var eu=1024;function tu(t){return new ze(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var cs=class{#e;#t;#r=new Sr;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:eu,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),ge(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw tu(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),u=o??{},c={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(c,u),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(c,u),this.#i();try{return await s}finally{n?.removeEventListener("abort",l)}}#i(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#a(),o?0:r);this.#s={id:n,isLast:o}}async#a(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let o=this.#r.take();if(!o)break;e.push(o)}if(e.length===0)return;this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);let r=await this.#u(e);this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#a(),e.forEach((o,n)=>"error"in r?o.fail(r.error):o.settle(r.distributions[n])),this.#i()}async#u(e){try{let r=e.map(({query:o})=>o);return{distributions:await nr(()=>this.#e.rttDistributions(r))}}catch(r){return{error:r}}}};var ls=class{maxQueue;#e;#t;constructor(e=eu){this.maxQueue=e,this.#e=new Sr,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw tu(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}};var R0=4;function ng(t,e){let{quantiles:r,atMs:o=[]}=e,{distribution:n}=t.mixture,{pFailed:s,meanMs:i,canonicalMass:a}=n;return{pFailed:s,meanMs:Number(i.toPrecision(R0)),likeliest:n.likeliest(),quantilesMs:sg(r,u=>n.quantileMs(u)),canonicalMass:a,...o.length>0&&{at:o.map(u=>I0(n,u))},...t.mixture.numDraws>0&&{drawn:N0(t,{quantiles:r,atMs:o})}}}function I0(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=ln(se[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function N0(t,{quantiles:e,atMs:r=[]}){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:u,pFailedError:c,meanErrorMs:l}=o;return{numDraws:a,numDistinct:u,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:c,meanMs:l,quantilesMs:sg(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function sg(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}var L0=[.05,.25,.5,.75,.95],C0=[.001,.999];function ig(t,{quantiles:e=L0,at:r=[],cdf:o},{step:n,trainingData:s}){let{query:{src:i,dst:a,source:u,destination:c,timeS:l},answer:f,numContextUsed:d}=t,p=Lm(t);return{src_addr:i,dst_addr:a,timestamp:l,context_measurements:d,...qt(ng(f,{quantiles:e,atMs:r})),...o!==void 0&&{cdf:D0(f.mixture.distribution,o)},basis:Fm(qm(s,u,c)),...p.length>0&&{notes:p},step:n}}function D0(t,e){let[r,o]=C0.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rtt_ms:i,cdf:t.cdf(i)}})}var B0=.01,fs=Y.map(fr),ag=fs.map(({length:t})=>t),ds=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=B0){this.logLikelihood=Am(e,{outcome:r,first:o,second:n});let i=wa(r);this.#e=nt(o,Y).probabilities.map(u=>u*(1-i));let a=e===null?-1:Y.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:u}=nt(n,fs[a]);this.#t=this.#e[a]*u[fs[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of nt(r,fs[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,ag[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<ag[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}};var ug=2**32;async function lg(t,e,r){let o=[],n=0,s=0,i=U0(e,t.config.sequenceLength),a=i.map(({tokens:u})=>u);return await t.decoders.withPrompts(a,1,async(u,c,l)=>{let f=i.slice(l,l+c.length);s+=c.reduce((h,{length:g})=>h+g,0);let d=f.flatMap(h=>h.numbers),p=d.map(h=>e[h]),m=await j0(u,c,{part:p,ends:f.map(({ends:h})=>h),...r});for(let h of q0(m,u.extent.maxRows))await F0(u,m,h),n+=h.length;m.forEach((h,g)=>{let{number:_}=p[g],x=new qe(r.seed,"score/p-value",_%ug,Math.floor(_/ug));o[d[g]]={logLikelihood:h.logLikelihood,pValue:h.pValue(x.float64())}})}),{scores:o,numExpanded:n,numTokens:s}}function U0(t,e){let r=[],o=new Map;return t.forEach((n,s)=>{let{rttCode:i}=n.measurement,a=ge({...n.measurement,context:n.context},e),u=Z0(a,i),c=cg(a.subarray(0,a.lastIndexOf(0))),l=n.context.length>0?o.get(c):void 0;if(o.delete(c),i===null||!l){let d={tokens:u,ends:[u.length],numbers:[s]};r.push(d),i!==null&&(l=d)}else l.tokens=u,l.ends.push(u.length),l.numbers.push(s);if(!l)return;let f=i===null?[10]:[8,11+(i>>8),11+(i&255)];o.set(cg(Uint16Array.from([...a,...f])),l)}),r}function cg(t){return String.fromCharCode(...t)}function Z0(t,e){let r=e===null?Y[0]:e>>8;return Uint16Array.from([...t,8,11+r])}async function j0(t,e,{part:r,ends:o,maxRelativeError:n}){let s=H(t.config),i=await t.prefill(e,{numLast:3,ends:o});return r.map(({measurement:a},u)=>{let[c,l,f]=[0,1,2].map(d=>ue(i,3*u+d,s));return new ds(a.rttCode,{outcome:c,first:l,second:f},n)})}function*q0(t,e){let r=t.flatMap(({needed:o},n)=>o.map(s=>({prompt:n,index:s})));for(let o=0;o<r.length;o+=e)yield r.slice(o,o+e)}async function F0(t,e,r){let o=H(t.config),n=e.map(()=>0);for(let{prompt:i}of r)n[i]++;t.fork(n,{numDropped:1});let s=await t.step(r.map(({index:i})=>11+Y[i]));r.forEach(({prompt:i,index:a},u)=>e[i].addSecondBytes(a,ue(s,u,o)))}var ps=class{maxContext;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=65536){this.maxContext=e,this.maxKept=r,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#i(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#i(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r){this.#i(r);let o=this.#r.get(e),n=this.#t.get(e)?.filter(({order:u})=>u>=(o?.endOrder??0))??[],i=o!==void 0&&o.context.length+n.length<=this.maxContext?[...o.context,...n.map(({measurement:u})=>u)]:this.contextOf(e,r,Math.ceil(this.maxContext/2)),a=this.#t.get(e)?.at(-1);return a&&this.#r.set(e,{context:i,endOrder:a.order+1}),i}#i(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#a(r);this.#s=[],this.#e.length>2*this.#o+256&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#a(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#u(r[0]):this.#o>this.maxKept&&this.#u(this.#e.find(({isDropped:o})=>!o))}#u(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function fg({source:t,destination:e}){return`${t} ${e}`}var H0=2**14,ms=class{maxContext;maxKept;#e;#t;constructor(e,r=H0){this.maxContext=e,this.maxKept=r,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new ps(this.maxContext,this.maxKept/2),newestUs:0},{history:a}=i,u=K0(r)??i.newestUs+1,c=u<i.newestUs;i.newestUs=Math.max(i.newestUs,u);let l=fg(e),f=(c?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function K0(t){let e=fn(String(t??""));return"timeUs"in e?e.timeUs:void 0}var G0=256;async function*pg(t,e,{context:r,seed:o,signal:n}){let s=new ms(r),i=[];for await(let a of e){let u=W0(a,s,t.config.sequenceLength);i.push(u),!(i.length<G0)&&(n?.throwIfAborted(),yield*dg(t,i,o),i=[])}n?.throwIfAborted(),yield*dg(t,i,o)}function W0({line:t,read:e},r,o){try{let n=ut(br,e()),s=us(n),i=r.contextOf(s,n.timestamp);return ge({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof b)return{line:t,error:n.message};throw n}}async function*dg(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await nr(()=>lg(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:u,rtt:c},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],m={src_addr:a,dst_addr:u,timestamp:l.timeS,rtt:c};yield{line:f+1,answer:{...m,log_likelihood:d,p_value:p}}}}var V0=124,J0=20,hs=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new cs(e,o),this.#n=new ls(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#i(Wa(e),{signal:r})}async rttBatch(e,r){return await Xa(this.#s(Ja(mg(e)),{},r))}rttLines(e,r={},o){return Qa(this.#s(Ya(e),r,o))}async destinations(e,r){let o=rg(this.#e,e);return await this.#a(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=ut(Yh,e),s=us(n),{context:i}=as({...n,context:o});ge({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[u]=await this.#a(()=>Om(this.#e,[a]),{signal:r}),{meanBits:c,spreadBits:l,totalBits:f}=u,d=u.orders.map(({blocks:m,bits:h})=>({order:m.map(({field:g})=>g).join(),bits:h,blockBits:Object.fromEntries(m.map(({field:g,bits:_})=>[g,_]))})),p=qt({meanBits:c,spreadBits:l,totalBits:f,orders:d});return{...n,timestamp:s.timeS,...p,step:this.#e.step}}async score(e,r={},o){return await Xa(this.#u(Ja(mg(e)),r,o))}scoreLines(e,r={},o){return Qa(this.#u(Ya(e),r,o))}async model(){return this.#r??=this.#a(()=>Dm(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=ut(Ka,r),s={lane:{},signal:o};yield*og(e,async({line:a,read:u})=>{try{return{line:a,answer:await this.#i(Wa(u(),n),s)}}catch(c){if(!(c instanceof Error)||mn(c).status!==400)throw c;return{line:a,error:c.message}}},V0)}async#i({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=Nm(s,e,[]),u=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return ig(d,r,s)};if(X(e.source)&&X(e.destination))return await this.#o.ask(i,f=>u(jn(f)),n);let c={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#a(async()=>u(await ya(s,c,{...o,onProgress:l})),n)}async#a(e,r){return await this.#n.run(()=>nr(e),r)}async*#u(e,r,o){let{context:n=J0,seed:s=0}=ut(Xh,r);yield*pg(this.#e,e,{context:n,seed:s,signal:o})}};function mg(t){if(Array.isArray(t))return t;throw new ze(400,"Cannot answer: found no array, one was wanted")}var ke="wpe.weight",Y0={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function X0({coordinates:t}){return t?ia(sr(t),0).reduce((e,{length:r})=>e+r,0):0}function hg({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?gt:0}}function gg(t,e,r){let o=new Map;return _g(t,r,({name:n,start:s,length:i,values:a,at:u})=>{let c=o.get(n)??D(e,n).slice();o.set(n,c),c.set(a.subarray(u,u+i),s)}),new Map([...e,...o])}function wg(t,e,r,o=Y0.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(hg(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(X0(t)*o.length)}};return _g(t,n,({name:s,start:i,length:a,values:u,at:c})=>{u.set(D(e,s).subarray(i,i+a),c)}),n}function _g(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...u}}=e,{width:c,coordinates:l}=t,{firstPair:f,length:d}=hg(t);if(y(o.every(m=>m<Se(t)),"rows of another model"),o.forEach((m,h)=>{r({name:Oe,start:2*m,length:2,values:n,at:2*h}),r({name:ke,start:c*m,length:c,values:s,at:c*h}),!(m<f||d===0)&&r({name:ir,start:d*(m-f),length:d,values:i,at:d*h})}),y(a.every(m=>m<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((m,h)=>{r({name:io,start:2*m,length:2,values:u.keys,at:2*h});for(let{part:g,start:_,length:x}of ia(sr(l),m))r({name:ao(g),start:_,length:x,values:u.values,at:p}),p+=x})}var xg=2**48;function yg(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function bg(t,e=1/0){for(let[r,o]of t){let n=yg(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, ${s} was wanted`}}function vg(t,e){let r=yg(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new b(`Cannot use the model: found ${n}, as where weights are too large for float32, finite numbers were wanted; use an earlier checkpoint or another run`)}var Q0={initial:2**15,min:1,max:2**24,growthSteps:500};function Sg({initial:t}=Q0){return Float32Array.of(t,0)}var eS=4096,tS=256,ru="reduce_partials";function Eg(t){return Math.min(tS,Math.ceil(t/eS))}function Ag(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(ru,o,{x:r});let i=Eg(o);if(i===1)return kg(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);Tg(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),kg(t,{x:a,length:i,out:n,accumulate:s})}function kg(t,e){S(ru,1,{out:e.out}),Tg(t,{label:"sum",isSum:!0,...e})}function Tg(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:u=1,count:c=1,accumulate:l=!1}=e;t.add({kernel:ru,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:u,accumulate:Number(l)},grid:[...re(u),c]})}function zg(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:u}=n;y(s,"a model without training has no backward pass");let c=o.batchSize*o.sequenceLength,l=r.width;To(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),ou(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&Oh(t,e,d),rS(t,e,{layer:d,backward:s}),oS(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:u.tokenRows,vocabSize:H(r),numUses:c},{name:"wpe.weight",tokenRows:u.rowPlaces,vocabSize:yt(r,o),numUses:_r(o)}];for(let{name:d,tokenRows:p,...m}of f){if(!p)continue;let h=D(a,d);Qm(t,{tokenRows:p,dx:s.dx,dTable:h,rows:c,width:l,...m})}}function To(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:u="store"}=o,c=D(r.operands,n),[l,f]=c.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");ko(t,{kind:"NN",m:d,n:f,k:l,a:s,b:c,c:a,epilogue:u,label:`${p} dx`});let m=r.gradients.get(n);m&&ko(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:m,epilogue:"accumulate",label:`${p} dW`})}function rS(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:u}=e.tensors.layers[r];y(a,"a model without training keeps no argument of the activation"),To(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:u,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),To(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),ou(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function oS(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];To(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),mh(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...Da(n,s)});let u=es(n,s),{dqRotated:c,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:m,dNorm:h}=o,{previous:g}=i.inputs;g&&nh(t,{dy:l,previous:g,dx:f,...u}),Ca(t,{x:a.q,scale:a.qScale,dy:c,dx:d,...u}),Ca(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...u});for(let[_,x]of[["q",d],["k",p],["v",m]])To(t,e,{name:`blocks.${r}.attn.${_}_proj.weight`,dy:x,x:a.xNorm,dx:h,epilogue:_==="q"?"store":"accumulate"});ou(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function ou(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;zh(t,{...s,dy:o,dx:n,rows:i,width:e})}function $g(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:u,ordinal:c,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:m,softcap:h}=e,g="cross_entropy";Og(g,e),S(g,d,{targets:o,lossMask:n,losses:s}),S(g,d*m,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(g,1,{weight:i,...u?{lossScale:u}:{}}),t.add({kernel:g,overrides:{SOFTCAP:+(h!==null),GRADIENT:+(a!==void 0),SCALED:+(u!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:u??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:m,softcap:h??0,first_byte:c?.firstByte??0,ordinal_2:c?.weights[0]??0,ordinal_3:c?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:re(d)})}function nu(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:u}=e,c="log_probabilities";Og(c,e),S(c,a,{logits:r}),S(c,s,{rowIndex:o}),S(c,s*i,{out:n}),t.add({kernel:c,overrides:{SOFTCAP:+(u!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:u??0},grid:re(s)})}function Og(t,{vocabSize:e,stride:r,softcap:o}){if(K(t,{stride:r},4),K(t,{vocabSize:e},1),e>r)throw new C(t,`vocabSize is ${e}, at most the stride ${r} was wanted`);if(o!==null&&!(o>0))throw new C(t,`softcap is ${o}, a positive number or null was wanted`)}function su(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:u,rttByteWeight:c}=r,l=r.batchSize*r.sequenceLength;jt(t,{extent:r,tensors:o},{...Pg,x:s.xLastNorm,y:s.logits}),$g(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:c,rows:l,...iu(e),...a?{dLogits:a.dLogits,teacher:n}:{},...u?{ordinal:{firstByte:11,weights:u}}:{}})}function iu(t){return{vocabSize:H(t),stride:Ut(t),softcap:t.softcap}}var Pg={name:"lm_head.weight",label:"lm_head"};function Mg(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:u,logits:c,rowIndex:l,logProbabilities:f}=s;Ct(t,{tokens:a,table:o,x:u,rows:i,width:r.width}),jt(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...Pg,x:u,y:c}),nu(t,{logits:c,rowIndex:l,out:f,numRows:i,...iu(r)})}async function Rg(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,H(e)]),u=new Me(t,"log-probabilities");nu(u,{logits:r,rowIndex:i,out:a,numRows:s,...iu(e)}),u.run();let[c]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return c}function nS(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function sS(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function Ig(t,e,r){let o=Lt(t.device),n=s=>wr(i=>$a(e,{...r,batchSize:s},i))<=o;return await Gn(t,s=>$a(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":sS(nS(r.batchSize,n))})}function gs(t,e,{parameters:r,weights:o}){let n=Rn(e);for(let s of o.keys())if(!n.has(s))throw au(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let u=o.get(s);if(!u)throw au(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(u.length!==i*a)throw au(`${u.length} values of ${s}`,`a shape of [${i}, ${a}]`);let c=r.get(s);c&&t.write(c,u)}}async function Ng(t,e,r){let o=await t.read(...r.values()),n=H(e);return new Map([...r].map(([s,i],a)=>{let c=s.startsWith("lm_head.weight")?n*e.width:Pe(i);return[s,o[a].slice(0,c)]}))}function au(t,e){return new b(`Cannot load the weights: found ${t}, wanted ${e}; use the configuration they were trained with`)}var ws=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#i;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.addressRows&&(this.#s=new _t(r));let i=o.freeRows!==void 0;this.#i=new Vn(yt(r,o),_r(o),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,Sg()),this.#r=new Me(e,"operand copies"),$h(this.#r,n),this.#o=new Me(e,"evaluation"),xr(this.#o,this.#t),su(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#c():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;y(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await Ig(e.gpu,r,i),u=new t(e,r,i,a,n);return await e.ready(),u}async tune(e){for(let r of[this.#n,this.#o])r&&await e.tune(r);this.zeroGradients()}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){gs(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await Ng(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#i.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){y(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){y(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&bo(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#i.claim(a),this.#l(eh(e,i,o),r,{isTraining:!0,ofTokens:a&&Dt(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="wpe.weight"?this.#i.size:D(this.gradients,e).shape[0]}async profile(e,r){return y(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#a(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#a(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(y(r.every(s=>s<this.#u),"a position is outside the batch"),r.length===0)return new Float32Array;this.#a(e);let{config:o,tensors:n}=this.#t;return await Rg(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#a(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#u(){return this.extent.batchSize*this.extent.sequenceLength}#c(){let e=new Me(this.registry,"forward and backward");xr(e,this.#t),su(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return Ag(e,{x:r.losses,length:this.#u,out:o,accumulate:!0}),zg(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);uh(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??bo(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#i.places(s);return{ofTokens:s,places:i,ofSlots:this.#i.rows}}};var uu=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[So]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=Pe(n);wh(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,u=gh({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,u)}moments(e){return{expAvg:D(this.state,`${e}.exp_avg`),expAvgSq:D(this.state,`${e}.exp_avg_sq`)}}},_s=class extends uu{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){y(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;xh(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:D(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function Lg(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,u=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*u)}var iS=128,aS=32;function Cg(t,e){let r=Math.min(e,iS);return{sequenceLength:r,batchSize:Math.min(aS,Bg(t,r).length)}}function Dg(t,e,{batchSize:r,sequenceLength:o}){let n=Bg(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=uS(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:bo(a,e,{sequenceLength:o,isTraining:!1})})}return s}function Bg(t,e){let r=[],o=0;for(let n of t){let s=ht(n,null);if(s>e)throw new b(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function uS(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let u of t[s]??[]){let c=new Ze(n.tokens,a).write(u,Ue);n.segmentStart.fill(a-i,a,a+c),n.targets.set(n.tokens.subarray(a+1,a+c),a),n.lossMask.fill(1,a+c-3,a+c-1),a+=c}n.segmentStart.fill(a-i,a,i+r)}return n}var cS={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},lS={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},fS=4,dS=1e30;async function Ug(t,e,r,o){let n=[];try{return await pS(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function pS(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,u=r.free.length,c=Cg(r.measurements,a),l=new cu(r,e),f=mS(r,c,l),d=await ws.create(t,l.config(),{...c,training:!0,freeRows:u});o(d),d.load(l.weights());let p=D(d.parameters,ke),m=D(d.gradients,ke),h=new _s(s,{...cS,learningRate:n.learningRate},[{name:ke,parameter:p,gradient:m}],d.slotRows),g=s.tensorFrom("anchors",[u,i],l.starts),_=s.tensorFrom("largest drifts",[u],Float32Array.from(r.free,({isKnown:G})=>G?n.maxDrift:dS)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:G}of[g,_,x,...h.state.values()])o(G);let T=new Me(t,"update of rows");h.add(T,x),yh(T,{table:p,anchors:g,limits:_,rows:u,width:i}),await t.ready();let R=Math.ceil(f[0].length/fS),E=(G,He)=>G.filter((pe,Er)=>Er%R===He%R),z=G=>{let He=G.reduce((pe,{batch:Er})=>pe+Er.lossMask.reduce((r_,o_)=>r_+o_,0)/2,0);d.zeroGradients();for(let{batch:pe,rows:Er}of G)d.accumulate(pe,1/(2*He),Er);return He},N=async()=>{let G=z(E(f[0],0));return(await s.read(d.lossSum))[0][0]/G},j=await N();for(let G=0;G<n.steps;G++){n.signal?.throwIfAborted();let He=R===1?G:G+Math.floor(G/R);z(E(f[He%f.length],G));let pe=Lg(G,n.steps,lS);h.prepare(G,{learningRate:pe,weightDecay:0}),T.run(),await s.finish(),n.onProgress?.(G+1)}let de=await N(),Ee=(await s.read(p))[0].slice(0,u*i),vt=bg(new Map([[ke,Ee]]),xg);if(vt)throw new b(`Cannot adapt: after the fit ${vt}; lower --learning-rate`);return{values:Ee,lossBefore:j,lossAfter:de}}var cu=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===P)return P;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(ke)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[u,c]of this.#e)n.set(o.subarray(u*e,(u+1)*e),c*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(ke,n).set(Oe,s),a=Rn(this.config());return new Map([...i].filter(([u])=>a.has(u)))}};function mS(t,e,r){let{measurements:o,addressRows:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:u})=>u!==null)?[0,1]:[0]).map(u=>{let c=o.map((l,f)=>f%2===u?l:{...l,timeS:null});return Dg(c,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?P:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(u=>u.map(({batch:c,withoutPairs:l})=>({batch:c,rows:l})))]}var hS=50;async function Zg(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let u=[...gS(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasPlace(d)),c=new Set(u.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:m}]of u.entries()){performance.now()-f>hS&&(await new Promise(_=>setTimeout(_,0)),f=performance.now()),n?.throwIfAborted();let h=[...m.values()].map(({other:_,ms:x})=>({node:t.nodeOf(_),rttMs:wS(x)})),g=i.locate(h,c);g&&l.push({address:p,place:g}),s?.(d+1,u.length)}for(let{address:d,place:p}of l){let m=t.claimNode(d);m!==P&&a.set(m,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function gS(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let u=Te(i),c=Te(a);if(s===null||u===c||!e.has(u))continue;let{rttsMs:l}=r.getOrInsertComputed(u,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(c,()=>({other:a,ms:[]})).ms.push(cn(s))}return r.values()}function wS(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function jg(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[Te(r),r]))}function xs({source:t,destination:e},r){return r.has(Te(t))||r.has(Te(e))}function qg(t,e,r=new Set){let o=lu(t);return[...jg(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===P||r.has(s)}).map(([n])=>n)}async function Fg(t,e,r){let{addresses:o,adapted:n,...s}=r,i=lu(t),a=lu(t),u=new Map,c=[],l=[],f=jg(e),d=yS(t),p=[...f.values()].map(g=>({address:g,row:i.rowOfAddress(g)})).filter(({row:g})=>g!==P),m=(g,_,x)=>{g===P||u.has(g)||u.set(g,{row:g,isKnown:!_&&!n.rows.has(g),start:x??d(g)})};for(let[g,_]of f){if(!o.has(g))continue;let x=i.rowOfAddress(_)===P,T=a.rowOfAddress(_,{claims:!0});m(T,x,x?_S(_,p,d):void 0),(T===P?c:l).push(g)}let h=e.filter(g=>xs(g,o));for(let{source:g,destination:_}of h){let x=i.rowOfPair(g,_)===P;m(a.rowOfPair(g,_,{claims:!0}),x)}return{addressRows:a,free:[...u.values()],measurements:h,addresses:l,withoutRow:c,located:await Zg(a,h,{...s,addresses:o,adaptedNodes:n.nodes})}}function _S(t,e,r){let o=e.filter(u=>u.address.length===t.length),n=o.map(u=>xS(u.address,t)),s=n.reduce((u,c)=>Math.max(u,c),0),i=o.filter((u,c)=>n[c]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:u}of i)r(u).forEach((c,l)=>a[l]+=c);return Float32Array.from(a,u=>u/i.length)}function xS(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function lu({config:t,weights:e}){let r=new _t(t);return r.load(e),r}function yS({config:{width:t},weights:e}){let r=D(e,ke);return o=>r.slice(o*t,(o+1)*t)}var bS={steps:20,learningRate:.1,maxDrift:1};async function Kg(t,e,r,o={}){vS(e);let n=r.filter(({rttCode:g})=>g!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=qg(e,n,s.rows),onLocated:a,...u}=o,c=await Fg(e,n,{addresses:new Set(i),adapted:s,signal:u.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:c.addresses,withoutRow:c.withoutRow,numFailed:l};if(c.free.length===0){let g=Hg(e,c,new Float32Array);return{...f,delta:g,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:m}=await Ug(t,e,c,{...bS,...u}),h=Hg(e,c,d);return{...f,delta:h,numMeasurements:c.measurements.length,lossBefore:p,lossAfter:m}}function Hg({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:u,rttCode:c,timeS:l}of r.measurements)c!==null&&r.addressRows.remember(r.addressRows.rowOfPair(a,u),{rttCode:c,timeS:l});let s=D(e,ke).slice();r.free.forEach(({row:a},u)=>s.set(o.subarray(n*u,n*(u+1)),n*a));let i=new Map(e).set(ke,s);return r.addressRows.save(i),wg(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function vS({config:t,weights:e}){if(!(Se(t)>0&&e.has(Oe)))throw new b(`Cannot adapt the model: it has no rows of addresses, one with them was wanted; train one with --set 'model.prefixVectors={"rows":65536}'`)}var ys=class{config;weights;rows;nodes;adaptation;#e;#t;#r;constructor(e,r,{adapted:o,trainingData:n}={}){this.config=e,this.weights=r,this.#r=new WeakSet,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes),this.#e=n,this.adaptation=n?.adaptation}get trainingData(){return this.#e&&{...this.#e,adaptation:this.adaptation}}async fit(e,r,o){let n=await Kg(e,this,r,{...o,adapted:this});this.weights=gg(this.config,this.weights,n.delta);for(let s of n.delta.rows)this.rows.add(s);for(let s of n.delta.coordinates.nodes)this.nodes.add(s);return this.#o(r,n),n}#o(e,{addresses:r,withoutRow:o}){let[n,s]=[new Set(r),new Set(o)],i=this.#t??=this.adaptation?_o.of(this.adaptation):new _o;for(let u of e){let{source:c,destination:l,rttCode:f,timeS:d}=u;f===null||this.#r.has(u)||!xs(u,n)||xs(u,s)||(this.#r.add(u),i.add(i.id(c),i.id(l),d))}let a=i.summary({origin:"",isSynthetic:null});a.measurements>0&&(this.adaptation={summary:a,known:i.table()})}};async function Gg(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var SS=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],Wg=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,fu=new Set;globalThis.addEventListener("unload",()=>zo.blockUntilIdle());var zo=class t{device;info;#e;#t;#r;constructor(e,r){this.device=e,this.info=r,this.#r=0,fu.add(new WeakRef(this)),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new b("Cannot use WebGPU: no adapter was found, a GPU or software driver was wanted; run sh setup.sh to install one");if(kS(r))throw new b(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), a Vulkan driver was wanted; run sh setup.sh to install one`);let o={};for(let d of SS)o[d]=r.limits[d];let n=e.subgroups??!0?await du(r,o,["subgroups"])??await du(r,o,[]):await du(r,o,[]);if(!n)throw new b("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:u,subgroupMinSize:c,subgroupMaxSize:l}=i,f=a||i.device||`${u} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:u,subgroupSize:s&&c===l?c:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:Wg.test(`${f} ${a} ${u}`)})}tensor(e,r,o="f32"){let n=Kn(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){y(r.byteLength<=Je(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return(await this.#n(e)).map((r,o)=>e[o].dtype==="f16"?Float32Array.from(new Float16Array(r)):new Float32Array(r))}async readUint32(e){return new Uint32Array((await this.#n([e]))[0])}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new b(`Cannot go on: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await Gg(this.device.queue,r)}close(){this.#o(),this.device.destroy()}static blockUntilIdle(){for(let e of fu){let r=e.deref();r?r.#o():fu.delete(e)}}#o(){this.#e||this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#n(e){let r=[],o=0;for(let s of e)r.push(o),o+=Math.ceil(Je(s)/16)*16;let n=this.device.createBuffer({label:"readback",size:Math.max(16,o),usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST});try{let s=this.device.createCommandEncoder({label:"readback"});e.forEach((u,c)=>s.copyBufferToBuffer(u.buffer,u.offsetBytes,n,r[c],Math.ceil(Je(u)/4)*4)),this.device.queue.submit([s.finish()]),await n.mapAsync(GPUMapMode.READ).catch(async u=>{throw await this.finish(),u});let i=n.getMappedRange(),a=e.map((u,c)=>i.slice(r[c],r[c]+Je(u)));return this.check(),a}finally{n.destroy()}}};function kS(t){return t.limits.maxBindingsPerBindGroup===4294967295&&Wg.test(`${t.info.description} ${t.info.vendor}`)}async function du(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var pu="//! ";function Fe(t,e){return`${pu}${t}
${e}`}function mu(t){return t.replace(/\/\/(?!!).*$/gm,"")}function bs(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(pu)),i=n[s]?.slice(pu.length);return new C(t,o,r-1-s,i)}function Vg(t,e){let r=mu(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,u,c])=>{if(i!=="0")throw new C(t,`binding ${c} is in group ${i}, 0 was wanted`);let[l,f="read"]=u.split(",").map(d=>d.trim());return{name:c,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new C(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var ES=`
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
`;function Yg(t,e,r){return r.length===0?e:r.reduce((n,s)=>Xg(t,AS(t,n,s),s),mu(e))+ES}function AS(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new C(t,`${r} is no array of vec4f, it cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function Xg(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i], it cannot be f16`;throw bs(t,f,f.split(`
`).length,d)}let u=Jg(e,a+1,"]"),c=e.slice(i.index,u+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(u+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=u+1+f.length;s=Jg(e,p,";");let m=Xg(t,e.slice(p,s),r,o+e.slice(0,p)),h=d?`unpack_half(${c}) ${d} (${m})`:m;n+=`${c} = pack_half(${h})`}else s=u+1,n+=`unpack_half(${c})`}return n+e.slice(s)}function Jg(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var Qg=`// Prelude of the row kernels where the adapter has subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// LANES is written before this text by the registry. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var ew=`// Prelude of the row kernels where the adapter has no subgroups: a tree in workgroup memory, a fixed order.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// LANES (a power of two) is written before this text by the registry. Calls must be in uniform control flow.
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
`;var tw=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
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
`;var rw=`// What becomes of a matrix product p on its way out: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP e = p too; SLOPE c = p f'(d); with f relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU
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

// 4 columns of a row of the matrix that starts at c[first]; nothing where the matrix has ended.
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
  // One store for all: each takes the compiler of lavapipe a tenth of a second.
  c[at] = result;
}

// Of a symmetric product, whose tiles above the diagonal are left out: on how many sides of it a tile is stored.
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
`;var ow=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
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
`;var nw=`// One step of AdamW for some rows of a table, the others are left as they are. For slot s < slot_rows[0], of row
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
`;var sw=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
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
`;var iw=`// From the sum of squares of all gradients, what the optimizer does with this step:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is to be skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = skipped steps in a row up to now.
// If SCALED, the gradients are loss_scale[0] times too large: norm and out[0] are divided by it. A skipped step halves
// it, down to min_scale; growth_steps steps in a row that are not skipped double it, up to max_scale. While it is larger
// than min_scale, skipped steps are not counted in out[3]: the next one has another scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (4) read and write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and how many steps in a row were not skipped since it was set.
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
`;var aw=`// y = x, between tensors that are stored differently: the f16 copies of weights.
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
`;var uw=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows in the order of their tokens, those of token v at the places
//   token_rows[v] .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
// Numerics: f32, rows ascending; no atomics, so the same bits at every run.
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
`;var cw=`// x[r, :] = table[tokens[r], :]
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
`;var lw=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not.
// For adapters whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs there 40 times a vector fma and a
// subgroupBroadcast about as much as one, so each lane loads a 4 x 4 block of A and one of B per 4 steps of k, and the
// blocks of A are spread by broadcast. Measured on 2 cores of lavapipe (Mesa 25.0): see lib/gpu/ops/gemm.ts.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which stands before this text.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of 8 lanes a tile, lane l owns the columns
//   4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3, a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into the matrix;
//   what they duplicate is not stored, or multiplied by 0 where k is not a multiple of 4. (Without the clamps it is slower.)
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above left out.
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
  // A bound unknown to the compiler: unrolled, the stores take it 4 s instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
`;var fw=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not; for any adapter.
// A tile of C a workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which stands before this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; what lies
//   beyond m and n is not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above left out.
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
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread carries at most one.
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
`;var dw=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum as Muon has it.
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
`;var pw=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
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
`;var mw=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
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
`;var hw=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
// else z = logits; and if GRADIENT, d_logits[r, :] = weight[0] * the gradient of losses[r], times loss_scale[0] if SCALED.
// Columns from vocab_size on are padding: they are not read into the softmax and their gradient is 0. Probabilities are
// not stored.
// Where loss_mask[r] is 2 or 3, d_logits is marked_weight times that; the loss that is written is not.
// If TAUGHT, where loss_mask[r] is 2 or 3, the gradient is (1 - teacher_weight) times that of the data, the term below
// included, plus teacher_weight times that of the cross-entropy to q = softmax(z of teacher_logits[r, :]), whose s is
// teacher_softcap, 0 for none.
// Where loss_mask[r] is 2 or 3 and ordinal_2 or ordinal_3 is not 0, d_logits also has ordinal_i times the gradient of
// sum_j q_j |j - target| / 255, q the softmax over the 256 columns from first_byte on: the Wasserstein-1 distance between
// q and the target's point mass. The loss that is written stays the cross-entropy.
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
    // All bytes together can be less than a float32 knows; the term is 0 then.
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
`;var gw=`// Keeps rows of a table near where they were: for row r < params.rows, d = table[r, :] - anchors[r, :]; where |d| >
//   limits[r], table[r, :] = anchors[r, :] + d limits[r] / |d|.
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
`;var ww=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
// vocab_size on are padding and left out.
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
`;var _w=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy turned back, dx = s (dz - x s^2 mean(x dz)), or dz if not NORM.
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

// The gradient by the normalised x.
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
`;var xw=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with halves in the place of neighbours as in GPT-NeoX; Henry et al.,
// Query-Key Normalization for Transformers, 2020, with rmsNorm.
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
`;var yw=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows that it is the previous one of, itself or the next.
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
`;var bw=`// y = x, but for the 2nd and the 4th quarter of each head, which come from another token:
// y[r, h, d] = earlier[previous[r], h, d] there.
// Source: the "partial key offset" of modded-nanogpt (github.com/KellerJordan/modded-nanogpt, records of 2025): a key
//   that holds some of the token before it lets one block look up what followed a token (Olsson et al., In-context
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
`;var vw=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (splits, length) read; c (length) write, also read if accumulate == 1.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32, splits ascending, so the same bits at every run.
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
`;var Sw=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// Of a batch, row z of x is summed alike, its partials following those of row z - 1.
// Bindings: x (batch, length) read; partials write, from \`first\` on num_partials a row, added to if accumulate == 1.
// Grid: num_partials workgroups of LANES lanes, by gridOf, times z = batch. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x has room for a multiple of 4 elements (every tensor has); what is beyond length is not counted.
//   Of a batch of several rows, length % 4 == 0.
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
`;var kw=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
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
// Columns / 4 of a lane that stay in registers between the sum and the result; those beyond are read twice.
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
`;var Ew=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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

// Of the tile's queries.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

// Of the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
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
`;var Aw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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

// Of each query of the tile; past the sequence's end, a start that no key reaches.
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
`;var Tw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var zw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var $w=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt (shared by all rows that continue the prompt, stored once) and to those of its own suffix so far.
// Source: as attention_forward_subgroup8.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole
// rows; the prompt's keys come in tiles of 4 (attention_slots_subgroup8.wgsl, attention_softmax_subgroup8.wgsl), a row's
// own keys one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; suffix_rows (S, N) read: which of these is each row's at each step, the newest last; tiles (x) read: rows
//   of one prompt as (first key, end of the keys, first row, end of the rows), the ends outside; out (N, H, D) write.
// Grid: x = tiles, y = H; one subgroup a tile; row n of lane l is 8 n + l of the tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 1024 / D rows and at least one key; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slot_parts: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> suffix_rows: array<u32>;
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
    let visible = key + vec4u(0u, 1u, 2u, 3u) < vec4u(rows.y);
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, visible, &s, &softmax, &sum);
    weights(1u, visible, &s, &softmax, &sum);
    weights(2u, visible, &s, &softmax, &sum);
    weights(3u, visible, &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var step = 0u; step < params.num_steps; step++) {
    let of_step = row + step * params.num_rows;
    let suffix = head0 + stride * vec4u(
      suffix_rows[of_step.x], suffix_rows[of_step.y], suffix_rows[of_step.z], suffix_rows[of_step.w]);
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
`;var Ow=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt (shared by all rows that continue the prompt, stored once) and to those of its own suffix so far.
// Source: as attention_forward_tiled.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For any adapter; slices and tiles of the prompt's keys are in
// attention_slices_tiled.wgsl, a row's own keys come one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; suffix_rows (S, N) read: which of these is each row's at each step, the newest last; tiles (x) read: rows
//   of one prompt as (first key, end of the keys, first row, end of the rows), the ends outside; out (N, H, D) write.
// Grid: x = tiles, y = H; 64 threads a tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 2048 / D rows and at least one key; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slice_parts: u32, tile_rows: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> suffix_rows: array<u32>;
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
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), key + j < rows.y));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let weight = select(0f, exp2(first_dot(j, thread) - largest), key + j < rows.y);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  for (var step = 0u; step < params.num_steps; step++) {
    let suffix = head0 + suffix_rows[step * params.num_rows + row] * stride + slice;
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
`;var Pw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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

// Which of the 4 keys from first_key on the query at t of a segment sees.
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
`;var Mw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var Rw=`// What the attention kernels for any adapter share; lib/gpu/kernels.ts appends it to each of them.
// A workgroup has 64 threads; a thread owns a slice of 32 dims of one row (query, or key): thread i slice i % SLICES of row
// i / SLICES, where D = 32 SLICES. The other side comes in tiles of 512 / D rows of two matrices (keys and values, or
// queries and the gradients of outputs) in workgroup memory, where the parts of dot products meet too.
// Loops have bounds from params (slice_parts is always 8): Mesa would unroll them, and compile for a minute.
// Limits: D is 32, 64 or 128; 12 KiB of workgroup memory.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

const THREADS = 64u;
const TILE_PARTS = 128u;

// 32 dims of a row.
struct Slice { part: array<vec4f, 8> }

// Matrix m, row r, dims 4 d to 4 d + 3 at TILE_PARTS m + r D / 4 + d.
var<workgroup> tile: array<vec4f, 256>;
// Of row r of the tile and thread i, at 64 r + i: the dot product of its slices with those of the first matrix \u2026
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

// The dot product of whole rows: of the thread's with the tile's row \`row\` of the first matrix.
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
`;var Iw=`// What the attention kernels for subgroups of 8 lanes share; lib/gpu/kernels.ts appends it to each of them.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side comes in tiles of 4 rows, loaded half a row a lane, and is
// spread by subgroupBroadcast, about as cheap on lavapipe as one vector fma, where a load costs 40. Everything is
// unrolled by hand: Mesa unrolls no loop of this size, and an array indexed by a variable is 10 times slower.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

// Four slots of 32 dims: vec4 d of slot i at 8 i + d.
struct Slots { part: array<vec4f, 32> }

// A tile of 4 rows: lane l holds of row l % 4 the first (l < 4) or second half of each slice of 32 dims.
struct Tile { slice: array<mat4x4f, 4> }

// For each of the lane's rows: a number for each of the tile's rows.
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
`;var Nw=`// What the forward attention kernels for subgroups of 8 lanes share besides attention_slots_subgroup8.wgsl: loads of tiles
// of the bindings k and v, and the running softmax of a lane's rows; lib/gpu/kernels.ts appends it to each of them.
// Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
// Limits: D is 32, 64 or 128.
const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// Of each of the lane's rows: the largest score so far, the sum of 2^(score - largest).
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
`;var Dw=Fe("lanes_subgroup",Qg),Bw=Fe("lanes_workgroup",ew),Lw=Fe("gemm_epilogue",rw),vs=Fe("attention_slices_tiled",Rw),Ss=Fe("attention_slots_subgroup8",Iw),Cw=Fe("attention_softmax_subgroup8",Nw),Uw={cross_entropy:hw,log_probabilities:ww,qk_norm_rope_backward:_w,qk_norm_rope_forward:xw,rms_norm_forward:tw,adamw:ow,adamw_rows:nw,add_rows:sw,clip_factor:iw,copy:aw,embedding_backward:uw,embedding_forward:cw,gemm_subgroup8:Lw+Fe("gemm_subgroup8",lw),gemm_tiled:Lw+Fe("gemm_tiled",fw),limit_rows:gw,muon_momentum:dw,muon_normalize:pw,muon_update:mw,reduce_partials:Sw,shift_keys_backward:yw,shift_keys_forward:bw,sum_splits:vw,rms_norm_backward:kw,attention_backward_key_subgroup8:Ew+Ss,attention_backward_key_tiled:Aw+vs,attention_backward_query_subgroup8:Tw+Ss,attention_backward_query_tiled:zw+vs,attention_decode_subgroup8:$w+Ss+Cw,attention_decode_tiled:Ow+vs,attention_forward_subgroup8:Pw+Ss+Cw,attention_forward_tiled:Mw+vs};var lk=64,ks=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...Uw,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??lk}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new C(e,"it is unknown; register it in lib/gpu/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=Vg(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new C(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new C(e,"it needs subgroups, the adapter has none; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+Fe(e,Yg(e,n,o));i.pushErrorScope("validation");let u=i.createShaderModule({label:e,code:a}),c=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[c]}),compute:{module:u,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(fk(e,u,f,a)),{name:e,interface:s,pipeline:l,layout:c}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?Dw:Bw}`:s}};async function fk(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw bs(t,o,s.lineNum,s.message);let i=await r;if(i)throw new C(t,i.message)}var Es=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){y(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);y(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}appendedKeys(e){let r=new Uint32Array(this.numSteps*e);return this.#n.forEach((o,n)=>r.set(o,n*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{y(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],u={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,u}),this.#o=o}};function Zw(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var As=class{#e;#t;#r;#o=[];#n=[];#s=[];#i=[];constructor(e,r,o){this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#o=e,this.#s=n,this.#n=o;let s=new Uint32Array(r*oe).fill(P),i=0;e.forEach((a,u)=>{let c=new xt(this.#t);for(let l=0;l<a.length;l++,i+=oe)c.read(a[l],s,i,this.#a(u,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(oe),n=0;this.#i=this.#o.flatMap((s,i)=>{let a=new xt(this.#t),u=0;return this.#s[i].flatMap(c=>{for(;u<c-r;u++)a.read(s[u],o,0,this.#a(i,u));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*oe).fill(P);this.#i.forEach((n,s)=>n.read(e[s],o,s*oe)),this.#e.write(this.#r,o)}#a(e,r){let o=this.#n[e],n=r===this.#o[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}};var jw="lower the decoder's maxPromptTokens, maxRows or maxSteps",Ts=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new Es,this.#o=0,this.#e=n;let{addressRows:s}=n.inputs;this.#n=s&&new As(e.gpu,new _t(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,u)=>u))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=Ba(r,i);if(a>s)throw new b(`Cannot allocate the decoder: it takes ${it(a)} besides the weights, at most ${it(s)} was wanted; ${jw}, or raise its memory limit`);let{gpu:u}=e,c=await Gn(u,f=>ts(r,i,f),{what:"the decoder",remedy:jw}),l=new t(e,r,i,c);return l.load(o),l}load(e){let{parameters:r}=this.#e;gs(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:T})=>[T])}=r,{config:i}=this,{gpu:a}=this.registry,u=this.#e,c=e.reduce((T,{length:R})=>T+R,0);this.#d("prompt tokens",c,this.extent.maxPromptTokens);let l=bt(c),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),m=[],h=[],g=0;for(let[T,R]of e.entries()){let E=o===1/0?R.length:o;y(R.length>=E,`a prompt of ${R.length} tokens has no ${o} last ones`),this.#f(R.length-1);let z=g+R.length;f.set(R,g);for(let j=g;j<z;j++)d[j]=j-g;p.fill(g,g,z);let N=g;for(let j of s[T]){let de=g+j-(o===1/0?j:o);y(de>=N,`ends ${s[T]} of a prompt are less than ${o} tokens apart`),N=g+j;for(let Ee=de;Ee<N;Ee++)m.push(Ee);h.push({firstKey:g,endKey:N})}y(N===z,`the last of the ends ${s[T]} is that of a prompt of ${R.length} tokens`),g=z}this.#r.begin(h),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(g,g),this.#u(f,d),a.write(u.inputs.segmentStart,p),this.#a(()=>Jn(p,l)),a.write(u.chosen.positions,Uint32Array.from(m));let _=bt(m.length),x=_<=Math.min(l/2,u.tiles.shape[0]);return x&&this.#i(Zw(h,m)),this.#l(x?`prefill ${l} for ${_}`:`prefill ${l}`,T=>Dh(T,{config:i,tensors:u,rows:l,numWanted:x?_:void 0})).run(),await this.#c(m.length,x?void 0:m)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#d("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#i(this.#s())}async step(e,r){y(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;y(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#d("steps",n+1,this.extent.maxSteps),this.#d("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#i(this.#s()));let s=bt(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let p of a)this.#f(p);this.#u(i,a),this.#n?.writeStep(e,s),this.#a(()=>this.#r.previousKeys(s));let{config:u}=this,c=this.#e,{suffixRows:l}=c;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.appendedKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`;return this.#l(d,p=>Bh(p,{config:u,tensors:c,rows:s,step:n,numTiles:f})).run(),await this.#c(o)}#s(){return Lh(this.#r.children,Nh(this.registry.gpu.info,this.config.headDim))}#i(e){let{gpu:r}=this.registry;this.#o=Math.min(bt(e.length),this.#e.tiles.shape[0]);let o=new Uint32Array(this.#o*4);e.forEach((n,s)=>o.set([n.firstKey,n.endKey,n.firstRow,n.endRow],s*4)),r.write(this.#e.tiles,o)}#a(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#u(e,r){let{gpu:o}=this.registry,n=H(this.config);y(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#c(e,r){let{gpu:o}=this.registry,{config:n}=this,s=bt(e),{chosen:i,head:a,parameters:u}=this.#e;this.#l(`head of ${s}, ${r?"chosen":"all"}`,p=>Mg(p,{config:n,hiddenStates:a.xLastNorm,operands:u,tensors:r?i:{...i,positions:i.rowIndex},rows:s})).run();let c={...i.logProbabilities,shape:[e,H(n)]},l=r?(r.at(-1)??-1)+1:e,[f,d]=await o.read(c,{...a.xLastScale,shape:[l]});return await this.registry.ready(),vg(f,r?r.map(p=>d[p]):[...d]),f}#l(e,r){let o=this.#t.get(e);return o||(o=new Me(this.registry,e),r(o),this.#t.set(e,o)),o}#f(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new b(`Cannot decode: position ${e} was asked for, at most ${r-1} was wanted; shorten the prompt or use a model with longer sequences`)}#d(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, at most ${o} was planned; create a larger decoder`)}};async function qw(t,e,r){let o=H(t.config),n=e.flatMap(({continuations:l})=>[...l]),s=e.flatMap(({prompt:l,continuations:f})=>f.map(d=>r?.(d,l))),i=n.map(({length:l})=>new Float32Array(l)),a=Uint32Array.from(e.flatMap(({continuations:l},f)=>l.map(()=>f))),u=(l,f)=>d=>{n.forEach((p,m)=>{if(l>=p.length)return;let h=ue(d,f[m],o),g=s[m]?.[l];i[m][l]=g?lr(h,p[l],g):h[p[l]]})},c=[t.prefill(e.map(({prompt:l})=>l)).then(u(0,a))];t.fork(e.map(()=>1));for(let l=1;;l++){let f=Ln(a,n.map(d=>l<d.length?d[l-1]:cr));if(f.tokens.length===0)break;a=f.rows,c.push(t.step(f.tokens,f.parents).then(u(l,a)))}return await Promise.all(c),i}function*Fw(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let u=0;u<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(u,u+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,u+=l.length}o.length>0&&(yield o)}var zs=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Lt(e.registry.gpu.device)};let o=n=>Ts.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new $s(()=>o(Za(e.config,this.#t))),this.#o=new $s(()=>o(this.continuationExtent))}get continuationExtent(){return jh(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=Za(this.#e.config,this.#t),s=0;for(let i of rs(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>await r(o,await o.prefill(e)))}async tokenLogProbabilities(e,r){let o=H(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let u=await i.prefill(a,{numLast:r}),c=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>u[c++*o+d]))}}),n}async continuationLogProbabilities(e,r){let o=[];for(let n of Fw(e,this.continuationExtent))o.push(...await this.#o.run(s=>qw(s,n,r)));return o}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},$s=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var dk=Y.keys().toArray();async function Hw(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,Y.length,async(s,i,a)=>{let u=r.slice(a,a+i.length),c=s.prefill(i,{numLast:2,recents:u}),l=i.map(()=>dk);if(n){let{maxSpreadMass:h,codes:g}=n,_=await c;l=i.map((x,T)=>Tm(ue(_,2*T+1),{maxSpreadMass:h,code:g[a+T]}))}s.fork(l.map(({length:h})=>h));let f=s.step(l.flat().map(h=>11+Y[h])),[d,p]=await Promise.all([c,f]),m=0;l.forEach((h,g)=>{let _={outcome:ue(d,2*g),first:ue(d,2*g+1),expanded:h,seconds:p.subarray(m*267,(m+=h.length)*267)};o(Em(_),a+g)})})}var pk=2**30;function mk({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new Q(`the model has vocabulary ${r}, v2 was wanted; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var Os=class t{config;registry;step;decoders;#e;#t;constructor(e,r,o,n,{memoryLimitBytes:s=pk,calibration:i,adapted:a,trainingData:u}){this.config=e,this.registry=r,this.step=n,this.#t=new ys(e,o,{adapted:a,trainingData:u}),this.#e=i,this.decoders=new zs(this,s)}static async from(e,r={}){r.anyVocabulary||mk(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new ks(await zo.open()),{adapted:a,trainingData:u}=e;return new t(o.model,i,n,s.step,{...r,adapted:a,trainingData:u})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#t.weights}get trainingData(){return this.#t.trainingData}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:pp(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o)),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...ge(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:u,timeS:c})=>u===null?[]:[{rttCode:u,timeS:c}]))},i=(a,u)=>r(this.#e?.apply(a)??a,u);await Hw(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:Qr(s)),n=await this.#t.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};var $o=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],Ps=class t{#e;#t;constructor(e,r){y(Kw(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return y(r>0,"a calibration needs measurements"),new t($o.map((o,n)=>{if(n===0||n===$o.length-1)return o;let s=_k(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=gk(e,r);if(!Kw(o)){let u=`${$o.length} numbers that rise from 0 to 1 were wanted`;throw new Q(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new Q(`${a}, one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026) was wanted; run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return wk($o,this.#e,e)}apply({pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}){let s=new Float64Array(r.length),i=0,a=0;for(let u=0;u<r.length;u++){i+=r[u];let c=this.shareBelow(Math.min(1,i));s[u]=c-a,a=c}return new wt(e,s,o,n)}},hk=I({run:I({checkpoint:O(),step:M(),modelSha256:O()}),calibration:I({shares:J(v())})});function gk(t,e){try{return hk.parse(JSON.parse(t))}catch(r){let o=r instanceof on&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="the report.json of an eval whose data has a validation split was wanted";throw new Q(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function Kw(t){return t.length===$o.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function wk(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function _k({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}var xk=["f32","f16"],yk=I({model:Ga,calibration:J(v()).nullable(),dtype:Ke(xk),weights:J(I({path:O(),sizeBytes:M().min(1),sha256:O().regex(/^[0-9a-f]{64}$/)})).min(1)});function Gw(t,e){try{return yk.parse(JSON.parse(t))}catch(r){throw new Q("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var Ft=8,bk=1e8,Ww="__metadata__",vk=I({dtype:O(),shape:J(v().int().nonnegative()),data_offsets:Hr([v().int().nonnegative(),v().int().nonnegative()])}),Sk=At(O(),O()),hu={F32:4,F16:2};function kk(t,{path:e,sizeBytes:r}){if(r<Ft)throw new Q(`the file ends, ${Ft} bytes of header length were wanted`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(bk,r-Ft))){let n=`the header is said to have ${o} bytes, the file has ${r}`;throw new Q(`${n}; it is truncated or no safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function Ek(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/hu[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function Vw(t,e){let r={path:e,sizeBytes:t.length},o=Ft+kk(t,r),{entries:n}=Ak(t.subarray(Ft,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:u}])=>{let l=(o+a)%hu[i]===0?t.subarray(o+a,o+u):t.slice(o+a,o+u);return[s,Ek(l,i)]}))}function Ak(t,e){let r=Tk(t,e.path);return $k(r.entries,{...e,dataOffsetBytes:Ft+t.length}),r}function Tk(t,e){let r={path:e,offsetBytes:Ft},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(u){throw new Q("the header is no JSON; it is damaged or no safetensors file",{...r,cause:u})}if(t[0]!==123||typeof o!="object"||o===null)throw new Q("the header does not start with {, a JSON object was wanted",r);let{[Ww]:n={},...s}=o,i=Sk.safeParse(n);if(!i.success)throw new Q(`${Ww} is not text to text`,r);let a=Object.entries(s).map(([u,c])=>[u,zk(u,c,r)]);return a.sort(([,u],[,c])=>u.begin-c.begin||u.end-c.end),{entries:new Map(a),metadata:i.data}}function zk(t,e,r){let o=vk.safeParse(e);if(!o.success)throw new Q(`tensor ${t} lacks a valid dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new Q(`tensor ${t} is ${n}, F32 or F16 was wanted; convert it`,r);let u=hu[n]*Ok(s);if(a-i!==u){let c=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new Q(`${c}, ${u} were wanted`,r)}return{shape:s,dtype:n,begin:i,end:a}}function $k(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let u=i<n?"overlaps the tensor before it":"leaves a hole before it";throw new Q(`tensor ${s} ${u}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new Q(`the file has ${o} bytes, ${s} were wanted; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function Ok(t){return t.reduce((e,r)=>e*r,1)}var Pk="ping-llm weights",Ms=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(Pk)}catch{return}}};async function Yw(t){let e=await Qw(t,{cache:"no-cache"});return Gw(await e.text(),t.href)}async function Xw(t,e,r){let o=new Ms(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await Mk(l,f,o,p=>r(i+p,n));for(let[p,m]of Vw(d,f.href))s.set(p,m);i+=l.sizeBytes}let{step:a,config:u,model_sha256:c}=t.model;return{directory:e.href,config:{model:On(u.model)},state:{step:a,files:{model:{sha256:c}}},weights:s}}async function Mk(t,e,r,o){o(0);let n=await r.get(t);if(n&&await Jw(n,t)===void 0)return n;let s=await Rk(t,e,o),i=await Jw(s,t);if(i)throw new b(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function Jw(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, ${e.slice(0,12)}\u2026 was wanted: it was damaged or replaced`}async function Rk({sizeBytes:t},e,r){let{body:o}=await Qw(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new b(`Cannot use the model from ${e.href}: found ${a} bytes, ${t} were wanted; load the page again`);try{let a=o?.getReader();for(let u=await a?.read();u?.value;u=await a?.read()){if(s+u.value.length>t)throw i("more");n.set(u.value,s),s+=u.value.length,r(s)}}catch(a){throw a instanceof b?a:gu(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function Qw(t,e){let r;try{r=await fetch(t,e)}catch(o){throw gu(t,"the server did not answer",o)}if(r.ok)return r;throw gu(t,`the server answered ${r.status}`)}function gu(t,e,r){return new b(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var Ik=2**28,Nk={src:"192.0.2.1",dst:"192.0.2.2"},Lk=100,e_=globalThis,kr=t=>e_.postMessage(t),wu=new Map,_u;e_.onmessage=async({data:t})=>{t.kind==="abort"?wu.get(t.id)?.abort():t.kind==="ask"?await Zk(t):await Ck(new URL(t.site))};async function Ck(t){try{_u=await Dk(t),kr({kind:"ready"})}catch(e){kr({kind:"status",status:{state:"failed",message:t_(e,"run the model here")}})}}async function Dk(t){let e=await Bk(),r=await Yw(t);Uk(r,e);let o=-1/0,n=await Xw(r,t,(i,a)=>{performance.now()-o<Lk||(o=performance.now(),kr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});kr({kind:"status",status:{state:"starting"}});let s=await Os.from(n,{memoryLimitBytes:Ik,...r.calibration&&{calibration:new Ps(r.calibration)}});return await s.rttDistribution(Nk),new hs(s,{info:r.model})}async function Bk(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new b(`Cannot run the model here: ${e}, WebGPU was wanted; ${r}`)}function Uk({model:{config:t}},e){let r=On(t.model),o=wr(s=>Zt(r,s)),n=Lt(e);if(!(o<=n))throw new b(`Cannot run the model here: its largest tensor has ${it(o)}, at most ${it(n)} was wanted by this GPU; open the page on a larger machine, or ask for a smaller model`)}async function Zk({id:t,operation:e,args:r}){let o=new AbortController;wu.set(t,o);try{if(!_u)throw new b("Cannot answer: the model is not loaded");kr({kind:"answer",id:t,answer:await jk(_u,e,[...r,o.signal])})}catch(n){kr({kind:"problem",id:t,detail:t_(n,"answer")})}finally{wu.delete(t)}}async function jk(t,e,r){return await t[e].apply(t,r)}function t_(t,e){let{status:r,detail:o}=mn(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
